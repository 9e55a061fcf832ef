import type { TillEvent } from '@till/client';
import { pageOf } from '../links.ts';
import { can } from '../session.ts';

/** The person or part that caused a change, if no request did. */
const causes: Readonly<Record<Exclude<TillEvent['cause']['kind'], 'api'>, string>> = {
  webhook: 'Reported by the processor',
  recovery: 'Found by Till in the events that it had missed',
  resync: 'Found by a resync',
  import: 'Imported from the processor',
  sweeper: 'Found by Till at a regular check',
};

export function causeText({ kind, keyName, person }: TillEvent['cause']): string {
  if (kind !== 'api') return causes[kind];
  return person === null ? `By the API key ${keyName ?? ''}` : `By ${person}`;
}

/** What caused an event, with its request and the event of the processor. */
export function Cause({ of: cause }: { readonly of: TillEvent['cause'] }) {
  const { requestId, processorEventId } = cause;
  return (
    <>
      {causeText(cause)}
      {requestId !== null && (
        <>
          {' · request '}
          <code>{requestId}</code>
        </>
      )}
      {processorEventId !== null && (
        <>
          {' · '}
          {can('operate') ? (
            <a href={pageOf('webhookEvent', processorEventId)}>{processorEventId}</a>
          ) : (
            <code>{processorEventId}</code>
          )}
        </>
      )}
    </>
  );
}
