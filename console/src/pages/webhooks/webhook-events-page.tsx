import type { WebhookEvent } from '@till/client';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { webhookEventStates } from '../../../../src/core/model/webhook-event.ts';
import { useReloadWhile } from '../../api/use-reload-while.ts';
import { useResource } from '../../api/use-resource.ts';
import { plural } from '../../format/words.ts';
import { listOf, pageOf } from '../../links.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { type Filter, Filters, filterValues } from '../../parts/filters.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Pager, rowsPerPage } from '../../parts/pager.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { ReplayFailed } from './replay-failed.tsx';

const failedShown = 10;

const filters: readonly Filter[] = [
  { kind: 'choice', name: 'state', label: 'State', options: webhookEventStates },
  { kind: 'text', name: 'type', label: 'Type' },
  { kind: 'text', name: 'objectId', label: "Processor's object id" },
];

const columns: readonly Column<WebhookEvent>[] = [
  { header: 'Type', cell: ({ id, type }) => <a href={pageOf('webhookEvent', id)}>{type}</a> },
  { header: 'State', cell: ({ state }) => <Status value={state} /> },
  {
    header: 'Object',
    cell: ({ objectId }) => (objectId === null ? none : <code>{objectId}</code>),
    isMinor: true,
  },
  { header: 'Attempts', cell: ({ attempts }) => attempts, isNumber: true, isMinor: true },
  { header: 'Received', cell: ({ receivedAt }) => <Time value={receivedAt} /> },
];

const failedColumns: readonly Column<WebhookEvent>[] = [
  ...columns.filter(({ header }) => header !== 'State'),
  { header: 'Error', cell: ({ lastError }) => lastError ?? none },
];

/** What the processor sent, failures first. */
export function WebhookEventsPage() {
  const { query } = useLocation();
  const values = filterValues(filters, query);
  const page = Number(query['page'] ?? 1);
  const [round, setRound] = useState(0);
  const events = useResource(
    (options) =>
      till()
        .webhookEvents.list({ ...values, page, limit: rowsPerPage }, options)
        .page(),
    [values, page],
    () => true,
  );
  const reload = () => {
    setRound((count) => count + 1);
    events.reload();
  };
  // An event that changes nothing sends no live update.
  const isWaiting = events.value?.data.some(({ state }) => state === 'pending') ?? false;
  useReloadWhile(isWaiting, events.reload);
  const isFiltered = Object.keys(values).length > 0;
  return (
    <Page title="Webhook events">
      {!isFiltered && <FailedEvents key={round} isWaiting={isWaiting} onReplayed={reload} />}
      <Filters filters={filters} />
      <Show resource={events}>
        {(page) =>
          page.data.length === 0 ? (
            <Empty>
              {isFiltered ? 'No webhook event matches.' : 'The processor has sent no webhook event yet.'}
            </Empty>
          ) : (
            <>
              <DataTable caption="Webhook events" columns={columns} rows={page.data} keyOf={({ id }) => id} />
              <Pager of={page} noun="webhook event" />
            </>
          )
        }
      </Show>
    </Page>
  );
}

function FailedEvents({
  isWaiting,
  onReplayed,
}: {
  readonly isWaiting: boolean;
  readonly onReplayed: () => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const failed = useResource(
    (options) => till().webhookEvents.list({ state: 'failed', limit: failedShown }, options).page(),
    [],
    () => true,
  );
  useReloadWhile(isWaiting, failed.reload);
  const { data = [], total = 0, totalCapped = false } = failed.value ?? {};
  if (data.length === 0) return null;
  const count = `${totalCapped ? 'more than ' : ''}${plural(total, 'webhook event')}`;
  return (
    <Section
      title={`Failed: ${count}`}
      aside={
        <button type="button" onClick={() => setOpen(true)}>
          Replay all failed
        </button>
      }
    >
      <DataTable caption="Failed webhook events" columns={failedColumns} rows={data} keyOf={({ id }) => id} />
      {total > failedShown && <a href={listOf('webhookEvent', { state: 'failed' })}>Show all failed</a>}
      {isOpen && (
        <ReplayFailed
          total={total}
          isCapped={totalCapped}
          onClose={(hasActed) => {
            setOpen(false);
            if (hasActed) onReplayed();
          }}
        />
      )}
    </Section>
  );
}
