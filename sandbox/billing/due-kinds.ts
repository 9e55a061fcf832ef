import { expireSession, sessionDueAt } from '../checkout/session.ts';
import { chargeDueAt, chargeFallsDue } from '../payments/charge-life.ts';
import { disputeDueAt, disputeFallsDue } from '../payments/dispute.ts';
import { refundDueAt, settleRefund } from '../payments/refund.ts';
import type { Collection } from '../state/collection.ts';
import type { Store } from '../state/store.ts';
import type { WireObject } from '../wire/objects.ts';
import { discountDueAt, discountFallsDue } from './discount.ts';
import { invoiceDueTimes, invoiceFallsDue } from './invoice-life.ts';
import { scheduleDueTimes, scheduleFallsDue } from './schedule-life.ts';
import { subscriptionDueTimes, subscriptionFallsDue } from './subscription-life.ts';
import { deleteTestClock } from './test-clock.ts';

/** How objects of one kind change over time. */
interface DueKind {
  ids(store: Store): string[];
  /** The test clock that decides when the object is due. Null for the world's clock. */
  clockIdOf(store: Store, id: string): string | null;
  /** The times at which the object needs work. Announcements up to `doneUntil` are done. */
  timesOf(store: Store, id: string, doneUntil: number): readonly number[];
  happen(store: Store, id: string, at: number): void;
}

/** The kinds of objects that change over time, by their names in the wire API. */
export const dueKinds: ReadonlyMap<string, DueKind> = new Map([
  ['subscription', kind((store) => store.subscriptions, subscriptionDueTimes, subscriptionFallsDue)],
  ['subscription_schedule', kind((store) => store.subscriptionSchedules, scheduleDueTimes, scheduleFallsDue)],
  [
    'invoice',
    kind(
      (store) => store.invoices,
      (invoice, _doneUntil, store) => invoiceDueTimes(store, invoice),
      (store, invoice, _at) => invoiceFallsDue(store, invoice),
    ),
  ],
  [
    'discount',
    kind(
      (store) => store.discounts,
      (discount, _doneUntil, store) => discountDueAt(store, discount),
      discountFallsDue,
    ),
  ],
  [
    'refund',
    kind(
      (store) => store.refunds,
      (refund, _, store) => refundDueAt(store, refund),
      settleRefund,
    ),
  ],
  [
    'test_helpers.test_clock',
    kind(
      (store) => store.testClocks,
      ({ deletes_after: at }) => at,
      deleteTestClock,
    ),
  ],
  ['charge', kind((store) => store.charges, chargeDueAt, chargeFallsDue)],
  ['dispute', kind((store) => store.disputes, disputeDueAt, disputeFallsDue)],
  ['checkout.session', kind((store) => store.checkoutSessions, sessionDueAt, expireSession)],
]);

function kind<T extends WireObject>(
  collectionOf: (store: Store) => Collection<T>,
  times: (value: T, doneUntil: number, store: Store) => readonly number[] | number | null,
  happen: (store: Store, value: T, at: number) => unknown,
): DueKind {
  return {
    ids: (store) => [...collectionOf(store).values()].map(({ id }) => id),
    clockIdOf: (store, id) => clockIdOf(store, collectionOf(store).get(id)),
    timesOf: (store, id, doneUntil) => {
      const value = collectionOf(store).get(id);
      const due = value === undefined ? null : times(value, doneUntil, store);
      return due === null ? [] : [due].flat();
    },
    happen: (store, id, at) => {
      const value = collectionOf(store).get(id);
      if (value !== undefined) happen(store, value, at);
    },
  };
}

/** A discount follows the clock of its subscription. */
function clockIdOf(store: Store, value: WireObject | undefined): string | null {
  if (value?.object === 'discount')
    return clockIdOf(store, store.subscriptions.get(store.discounts.get(value.id)?.subscription ?? ''));
  return value !== undefined && 'test_clock' in value && typeof value.test_clock === 'string'
    ? value.test_clock
    : null;
}
