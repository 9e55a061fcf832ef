import { copyText } from './copy-text.ts';
import { Dialog } from './dialog.tsx';

/**
 * Shows a secret that cannot be shown again. Closing the dialog discards it, so Escape does not close it: only the
 * button does. Null: the response that showed it was lost.
 */
export function ShownSecret({
  title,
  value,
  text,
  lost,
  onClose,
}: {
  readonly title: string;
  readonly value: string | null;
  /** What it is for, and where to keep it. */
  readonly text: string;
  /** What to do if it was lost. */
  readonly lost: string;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={title} onCancel={value === null ? onClose : stay}>
      {value === null ? (
        <div class="problem" role="alert">
          {lost}
        </div>
      ) : (
        <div class="dialog-body">
          <p>
            <strong>Copy it now.</strong> {text}
          </p>
          <code class="new-key">{value}</code>
          <button type="button" class="primary" onClick={() => copyText(value)}>
            Copy
          </button>
        </div>
      )}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          {value === null ? 'Close' : 'I have stored it'}
        </button>
      </div>
    </Dialog>
  );
}

function stay(): void {}
