import { useId, useState } from 'preact/hooks';
import { type ApiError, toApiError } from '../api/api-error.ts';
import { Page } from '../parts/page.tsx';
import { signedOutBecause, signIn } from '../session.ts';

export function SignIn() {
  const id = useId();
  const [key, setKey] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const submit = async () => {
    setBusy(true);
    setError(undefined);
    await signIn(key.trim()).catch((caught: unknown) => setError(toApiError(caught)));
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
          {error !== undefined && (
            <div class="problem" role="alert">
              <strong>{error.title}</strong>
              <p>{error.status === 401 ? 'This key is not valid, or no longer.' : error.detail}</p>
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
