import type { Plan, PlanChange, WriteOptions } from '@till/client';
import { useState } from 'preact/hooks';
import { can } from '../session.ts';
import { ActionDialog } from './action-dialog.tsx';
import type { Closing } from './dialog.tsx';
import { metadataChange, metadataEntries, parseMetadata } from './entries.ts';
import { EntriesInput } from './entries-input.tsx';
import { Metadata } from './fields.tsx';

interface EditableMetadataProps {
  readonly of: Plan['metadata'];
  /** Changes the metadata of the object. */
  readonly save: (metadata: NonNullable<PlanChange['metadata']>, options: WriteOptions) => Promise<unknown>;
  readonly onSaved: () => void;
}

/** The caller's own values of an object, with a button to change them. */
export function EditableMetadata({ of, save, onSaved }: EditableMetadataProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Metadata of={of} />{' '}
      {can('write') && (
        <button type="button" class="link" onClick={() => setOpen(true)}>
          Edit metadata
        </button>
      )}
      {isOpen && (
        <EditMetadata
          of={of}
          save={save}
          onClose={(hasActed) => {
            setOpen(false);
            if (hasActed) onSaved();
          }}
        />
      )}
    </>
  );
}

function EditMetadata({ of, save, onClose }: Omit<EditableMetadataProps, 'onSaved'> & Closing) {
  // The values when the dialog opened: a change that arrives meanwhile must not be undone.
  const [before] = useState(of);
  const [entries, setEntries] = useState(() => metadataEntries(of));
  const parsed = parseMetadata(entries);
  const change = typeof parsed === 'string' ? {} : metadataChange(before, parsed);
  return (
    <ActionDialog
      title="Edit metadata"
      confirm="Save metadata"
      isReady={Object.keys(change).length > 0}
      done="Metadata saved"
      onClose={onClose}
      act={(idempotencyKey) => save(change, { idempotencyKey })}
    >
      <EntriesInput
        label="Metadata"
        noun="Metadata entry"
        entries={entries}
        problem={typeof parsed === 'string' ? parsed : ''}
        onChange={setEntries}
      />
      <p class="quiet">Your applications read these values. They are stored at the processor too.</p>
    </ActionDialog>
  );
}
