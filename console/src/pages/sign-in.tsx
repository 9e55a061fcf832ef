import { useId, useState } from 'preact/hooks';
import { isTillError } from '../../../client/src/index.ts';
import { type Failure, failureOf } from '../api/failure.ts';
import { Page } from '../parts/page.tsx';
import { signedOutBecause, signIn } from '../session.ts';

export function SignIn() {
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
    <main class="sign-in">
      <Page title="Sign in to Till">
        {signedOutBecause.value !== '' && <p role="status">{signedOutBecause.value}</p>}
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
              The key stays in this tab and is forgotten when you close it. On your own machine the first key
              is in the file <code>.till/api-key</code>.
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
      </Page>
    </main>
  );
}

/** The client refuses an API key that cannot be sent in a header. The server would refuse it too. */
function signInFailure(error: unknown): Failure {
  const failure = failureOf(error);
  const isRefused = isTillError(error, 'unauthorized') || error instanceof TypeError;
  return isRefused
    ? { ...failure, title: 'Invalid API key', detail: 'This API key is not valid or no longer valid.' }
    : failure;
}
