import { useState } from 'preact/hooks';
import { listOf } from '../../links.ts';
import { useCreateCommand } from '../../parts/create-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Failed } from '../../parts/states.tsx';
import { useSearch } from '../../search/use-search.ts';
import { can } from '../../session.ts';

/** Enough to find a customer by typing a little more. */
const shownMax = 6;

interface Chosen {
  readonly customerId: string;
  readonly name: string;
}

/** A button that creates something for a customer, after asking for which one. */
export function CreateFor({
  noun,
  Dialog: CreateDialog,
}: {
  /** What it creates: `checkout`. */
  readonly noun: string;
  readonly Dialog: (props: Chosen & { readonly onClose: () => void }) => preact.JSX.Element;
}) {
  const [open, setOpen] = useState<Chosen | 'choose' | undefined>(undefined);
  useCreateCommand(() => setOpen('choose'));
  if (!can('write')) return null;
  const close = () => setOpen(undefined);
  return (
    <>
      <button type="button" class="primary" onClick={() => setOpen('choose')}>
        Create {noun}
      </button>
      {open === 'choose' && (
        <ChooseCustomer title={`Create ${noun}: for which customer?`} onChoose={setOpen} onCancel={close} />
      )}
      {typeof open === 'object' && <CreateDialog {...open} onClose={close} />}
    </>
  );
}

function ChooseCustomer({
  title,
  onChoose,
  onCancel,
}: {
  readonly title: string;
  readonly onChoose: (chosen: Chosen) => void;
  readonly onCancel: () => void;
}) {
  const [text, setText] = useState('');
  const { results, isCurrent, failure, retry } = useSearch(text);
  const found = results.filter(({ objectType }) => objectType === 'customer').slice(0, shownMax);
  return (
    <Dialog title={title} onCancel={onCancel}>
      <div class="dialog-body">
        <TextField label="Customer" value={text} hint="An e-mail, a name or an id." onInput={setText} />
        {failure !== undefined && <Failed failure={failure} retry={retry} />}
        <ul class="plain found" aria-label="Customers found">
          {found.map(({ objectId, label, description }) => (
            <li key={objectId}>
              <button type="button" onClick={() => onChoose({ customerId: objectId, name: label })}>
                {label} <span class="quiet">{description}</span>
              </button>
            </li>
          ))}
        </ul>
        <p class="quiet" role="status">
          {text.trim() !== '' && isCurrent && found.length === 0 && (
            <>
              No customer matches. <a href={listOf('customer')}>Create one first</a>.
            </>
          )}
        </p>
      </div>
      <div class="dialog-actions">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
