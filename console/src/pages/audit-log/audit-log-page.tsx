import type { AuditEntry, AuditLogQuery } from '@till/client';
import { commandLine, otherActions } from '../../../../src/core/model/audit-entry.ts';
import { fieldLabel, words } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import type { Column } from '../../parts/data-table.tsx';
import { createdFilters, type Filter } from '../../parts/filters.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { Status } from '../../parts/status.tsx';
import { none, ShortId, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { auditedActions } from './audited-actions.ts';

const actions = [...auditedActions, ...otherActions].toSorted((one, two) =>
  textOfAction(one).localeCompare(textOfAction(two)),
);

const filters: readonly Filter[] = [
  { kind: 'text', name: 'actor', label: 'Who' },
  { kind: 'choice', name: 'action', label: 'What', options: actions, textOf: textOfAction },
  { kind: 'text', name: 'objectId', label: 'Id of the object' },
  ...createdFilters,
];

const columns: readonly Column<AuditEntry>[] = [
  { header: 'When', cell: ({ createdAt }) => <Time value={createdAt} /> },
  {
    header: 'Who',
    cell: ({ actor: { person, keyName }, address }) =>
      person ?? keyName ?? (address === commandLine ? 'The till command' : none),
  },
  { header: 'What', cell: ({ action }) => textOfAction(action) },
  { header: 'Object', cell: (entry) => <ObjectLink entry={entry} /> },
  {
    header: 'Result',
    cell: ({ outcome }) => (
      <>
        <Status value={outcome < 400 ? 'done' : 'failed'} tone={outcome < 400 ? 'good' : 'bad'} />{' '}
        <span class="quiet">{outcome}</span>
      </>
    ),
  },
  { header: 'Address', cell: ({ address }) => address ?? none, isMinor: true },
  {
    header: 'Request',
    cell: ({ requestId }) => (requestId === null ? none : <ShortId value={requestId} />),
    isMinor: true,
  },
];

export function AuditLogPage() {
  return (
    <ListPage
      title="Audit log"
      noun="entry"
      list={(query: AuditLogQuery, options) => till().auditLog.list(query, options)}
      columns={columns}
      keyOf={({ id }) => id}
      filters={filters}
    />
  );
}

/** `revokeApiKey` is "Revoke API key", and `session.created` "Session created". A list in the log is an export. */
function textOfAction(action: string): string {
  return fieldLabel(words(action.replace(/^list(?=[A-Z])/, 'export'))).replace(/\bapi\b/i, 'API');
}

const linked = {
  customer: 'customer',
  plan: 'plan',
  payment: 'payment',
  subscription: 'subscription',
  invoice: 'invoice',
  checkout: 'checkout',
  webhook_event: 'webhookEvent',
  event_endpoint: 'eventEndpoint',
} as const;

function ObjectLink({ entry: { objectType, objectId } }: { readonly entry: AuditEntry }) {
  if (objectType === null) return none;
  const name = words(objectType).replace(/\bapi\b/i, 'API');
  if (objectId === null) return name;
  const type = Object.entries(linked).find(([known]) => known === objectType)?.[1];
  return (
    <>
      {name} {type === undefined ? <code>{objectId}</code> : <a href={pageOf(type, objectId)}>{objectId}</a>}
    </>
  );
}
