import { isTillError } from '@till/client';
import { useId, useState } from 'preact/hooks';
import { type Failure, failureOf } from '../api/failure.ts';
import { Page } from '../parts/page.tsx';
import { hasKeySignIn, hasSingleSignOn, signedOutBecause, signIn } from '../session.ts';

/** Takes the place of any page, so that the user continues there after the sign-in. */
export function SignIn() {
  return (
    <main class="sign-in">
      <Page title="Sign in to Till">
        {signedOutBecause.value !== '' && <p role="status">{signedOutBecause.value}</p>}
        {hasSingleSignOn && <SingleSignOn />}
        {hasSingleSignOn && hasKeySignIn && <p class="quiet">Or use an API key.</p>}
        {hasKeySignIn && <KeySignIn />}
      </Page>
    </main>
  );
}

function SingleSignOn() {
  const to = `${location.pathname}${location.search}`;
  return (
    <p>
      <a class="button primary" href={`/console/sign-in?to=${encodeURIComponent(to)}`}>
        Sign in with single sign-on
      </a>
    </p>
  );
}

function KeySignIn() {
  const id = useId();
  const [key, setKey] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | undefined>(undefined);
  const submit = async () => {
    setBusy(true);
    setFailure(undefined);
    await signIn(key.trim()).catch((error: unknown) => setFailure(signInFailure(error)));
    setBusy(false);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div class="field">
        <label for={id}>API key</label>
        <input
          id={id}
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
          aria-describedby={`${id}-hint`}
        />
        <p id={`${id}-hint`} class="quiet">
          The key opens a session for all tabs of this browser, and is not kept. On your own machine the first
          key is in the file <code>.till/api-key</code>.
        </p>
      </div>
      {failure !== undefined && (
        <div class="problem" role="alert">
          <strong>{failure.title}</strong>
          <p>{failure.detail}</p>
        </div>
      )}
      <button type="submit" class="primary" disabled={isBusy || key.trim() === ''}>
        {isBusy ? 'Signing in…' : 'Sign in'}
      </button>
    </form>
  );
}

function signInFailure(error: unknown): Failure {
  const failure = failureOf(error);
  return isTillError(error, 'unauthorized')
    ? { ...failure, title: 'Invalid API key', detail: 'This API key is not valid or no longer valid.' }
    : failure;
}
