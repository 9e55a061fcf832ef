import { type Cause, causeOfKind } from '#core/platform/cause.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import type { NewEvent } from '#engine/events/event.ts';
import type { Outbox } from '#engine/events/outbox/outbox.ts';
import type { CounterWindow, UsageStore } from './usage-store.ts';

/** An event about a meter reports what a customer has used of it. A change of a meter writes none. */
export const usageEvents = {
  objectType: 'meter',
  meanings: {
    'usage.limit_reached':
      'The customer has used up the limit of a meter. Once for each window. `data` is `{ meter, used, limit, periodStart, periodEnd }`, and not the meter.',
  },
} as const;

export interface ReachedLimit extends CounterWindow {
  readonly meterKey: string;
  readonly used: number;
  readonly cause: Cause | undefined;
}

/**
 * Writes the events of limits that this transaction has reached, and remembers that. Call it last, as the outbox runs.
 */
export function reportReached(
  tx: Transaction,
  { store, events }: { readonly store: UsageStore; readonly events: Pick<Outbox, 'report'> },
  reached: readonly ReachedLimit[],
): void {
  store.markReached(tx, reached);
  events.report(tx, reached.map(toEvent));
}

function toEvent({
  customerId,
  meterId,
  meterKey,
  startsAt,
  endsAt,
  limit,
  used,
  cause,
}: ReachedLimit): NewEvent {
  return {
    type: 'usage.limit_reached',
    objectType: 'meter',
    objectId: meterId,
    customerId,
    data: {
      meter: meterKey,
      used,
      limit,
      periodStart: startsAt.toISOString(),
      periodEnd: endsAt.toISOString(),
    },
    previous: {},
    cause: cause ?? causeOfKind('api'),
  };
}
