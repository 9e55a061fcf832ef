import type { TimeZone } from '#core/platform/time-zone.ts';
import type { Cell, CountedChange } from './cells.ts';
import { moveMetrics } from './subscription-moves.ts';

/** The metrics of all changes of subscriptions that the overview counts, by their names in the API. */
export const metricsOfMoves = {
  ...moveMetrics,
  trial_started: 'trials.started',
  trial_converted: 'trials.converted',
  trial_expired: 'trials.expired',
  renewal_failed: 'recovery.failed',
  renewal_recovered: 'recovery.recovered',
  renewal_lost: 'recovery.lost',
} as const;
export type MoveName = keyof typeof metricsOfMoves;
/** The type of `Object.keys` does not show that there are no other names. */
export const moveNames = Object.keys(metricsOfMoves) as readonly MoveName[];

/** One of the changes that a number of the overview adds up. */
export interface CountedMove extends Omit<Cell, 'count'> {
  readonly createdAtMs: number;
  readonly customerId: string;
  readonly subscriptionId: string;
}

/** A stored move. Its id contains its time. */
export interface StoredMove {
  readonly id: string;
  readonly day: string;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly amount: number;
}

/** A customer whose subscriptions charge something in a month, in one currency. */
export interface CurrentSubscriber {
  /** The id of the customer. */
  readonly id: string;
  readonly monthlyAmount: number;
}

/** The moves of a change of status: a trial or a failed renewal that starts or ends. */
export function turnMovesOf(
  { createdAtMs, kind: { recurring }, before, after }: CountedChange,
  zone: TimeZone,
): readonly CountedMove[] {
  if (recurring === undefined) return [];
  const { id: subscriptionId, customerId, currency } = recurring.ownerOf(after);
  return recurring.turnsOf(before, after).map((metric) => ({
    ...{ day: zone.dayOf(createdAtMs), currency, metric, amount: 0n },
    ...{ createdAtMs, customerId, subscriptionId },
  }));
}
