import { useState } from 'preact/hooks';
import { Dialog } from '../../parts/dialog.tsx';
import type { CreatedApiKey } from './api-key.ts';

/** Shows a new key, this once. Closing the dialog forgets it. */
export function NewApiKey({
  created: { name, key },
  onClose,
}: {
  readonly created: CreatedApiKey;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={`The new API key ${name}`} onCancel={onClose}>
      {key === null ? (
        <div class="problem" role="alert">
          The key was created, but the response that showed it was lost, and Till stores only a digest. Revoke
          this key and create another one.
        </div>
      ) : (
        <ShownKey value={key} />
      )}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          {key === null ? 'Close' : 'I have stored the key'}
        </button>
      </div>
    </Dialog>
  );
}

function ShownKey({ value }: { readonly value: string }) {
  // A notice would be behind the dialog, where screen readers do not read.
  const [result, setResult] = useState('');
  const copy = () =>
    navigator.clipboard.writeText(value).then(
      () => setResult('Copied'),
      () => setResult('The browser did not allow it. Select the key and copy it.'),
    );
  return (
    <div class="dialog-body">
      <p>
        <strong>Copy the key now.</strong> Till stores only a digest and cannot show it again. Keep it where
        your application keeps its secrets.
      </p>
      <code class="new-key">{value}</code>
      <button type="button" class="primary" onClick={copy}>
        Copy key
      </button>{' '}
      <span class="quiet" role="status">
        {result}
      </span>
    </div>
  );
}
