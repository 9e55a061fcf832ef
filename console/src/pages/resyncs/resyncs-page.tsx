import type { Resync } from '@till/client';
import { useState } from 'preact/hooks';
import { useReloadWhile } from '../../api/use-reload-while.ts';
import { useResource } from '../../api/use-resource.ts';
import { plural, words } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';

/** Comparisons with the processor, and the progress of the running one. */
export function ResyncsPage() {
  const [isOpen, setOpen] = useState(false);
  const resyncs = useResource((options) => till().resyncs.list(options), []);
  const running = resyncs.value?.find(({ status }) => status === 'running');
  const { reload } = resyncs;
  useReloadWhile(running !== undefined, reload);
  return (
    <Page
      title="Resync"
      actions={
        <button type="button" disabled={running !== undefined} onClick={() => setOpen(true)}>
          Start a resync
        </button>
      }
    >
      <p class="quiet">
        Compares what Till knows with the processor, and corrects what differs. Till does so by itself for
        events that it missed. Start one after restoring a backup, or if you doubt a number.
      </p>
      <Show resource={resyncs}>
        {(rows) => (
          <>
            {running !== undefined && <Running resync={running} />}
            <Section title="History">
              <DataTable
                caption="Resyncs"
                empty="No resync was started here yet."
                columns={columns}
                rows={rows}
                keyOf={({ id }) => id}
              />
            </Section>
          </>
        )}
      </Show>
      {isOpen && (
        <StartResync
          onClose={(hasActed) => {
            setOpen(false);
            if (hasActed) reload();
          }}
        />
      )}
    </Page>
  );
}

const columns: readonly Column<Resync>[] = [
  { header: 'Started', cell: ({ startedAt }) => <Time value={startedAt} /> },
  { header: 'Status', cell: ({ status }) => <Status value={status} tone={tones[status]} /> },
  {
    header: 'Of',
    cell: ({ customerId }) =>
      customerId === null ? 'Everything' : <a href={pageOf('customer', customerId)}>One customer</a>,
    isMinor: true,
  },
  { header: 'Compared', cell: (resync) => sum(resync, 'compared'), isNumber: true },
  { header: 'Corrected', cell: (resync) => sum(resync, 'corrected'), isNumber: true },
  { header: 'Not compared', cell: (resync) => <Skipped resync={resync} />, isMinor: true },
  { header: 'Ended', cell: ({ endedAt }) => <Time value={endedAt} />, isMinor: true },
];

const tones = { running: 'busy', finished: 'good', failed: 'bad', stopped: 'warn' } as const;

function sum({ progress }: Resync, field: 'compared' | 'corrected'): number {
  return progress.reduce((total, one) => total + one[field], 0);
}

function Skipped({ resync }: { readonly resync: Resync }) {
  if (resync.error !== null) return <>{resync.error}</>;
  if (resync.skippedCount === 0) return none;
  return (
    <details>
      <summary>{plural(resync.skippedCount, 'object')}</summary>
      <ul>
        {resync.skipped.map(({ resource, id, reason }) => (
          <li key={id}>
            {words(resource)} <code>{id}</code>: {reason}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Running({ resync }: { readonly resync: Resync }) {
  return (
    <Section title="Running">
      {resync.progress.length === 0 && <Empty>Starting…</Empty>}
      {resync.progress.map(({ resource, compared, expected, corrected }) => (
        <div key={resource} class="progress">
          <span>
            {words(resource)}s: {plural(compared, 'object')} compared, {corrected} corrected
          </span>
          <progress
            aria-label={`${words(resource)}s`}
            value={Math.min(compared, expected)}
            max={Math.max(expected, compared, 1)}
          />
        </div>
      ))}
    </Section>
  );
}

function StartResync({ onClose }: Closing) {
  const [customerId, setCustomerId] = useState('');
  return (
    <ActionDialog
      title="Start a resync"
      confirm="Start"
      done="The resync has started"
      onClose={onClose}
      act={(idempotencyKey) =>
        till().resyncs.start(customerId === '' ? {} : { customerId }, { idempotencyKey })
      }
    >
      <TextField
        label="Customer id (empty: everything)"
        value={customerId}
        onInput={(text) => setCustomerId(text.trim())}
      />
      <p>
        Till reads {customerId === '' ? 'every object' : 'the objects of this customer'} from the processor
        and corrects rows that differ. Nothing changes at the processor, and no customer is charged.
      </p>
    </ActionDialog>
  );
}
