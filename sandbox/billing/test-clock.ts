import { livingCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import type { TestClock } from '../wire/objects.ts';
import { refusal } from '../wire/wire-error.ts';
import { addIntervals } from './calendar.ts';

/** The processor's own limit. */
const intervalsMax = 2;
const yearsMax = 2;

/** The id of the test clock that the customer is attached to. */
export function testClockIdOf(store: Store, customerId: string): string | null {
  return livingCustomer(store, customerId)?.test_clock ?? null;
}

/** The processor does not change objects of a clock that is advancing. */
export function checkReady({ id, status }: TestClock): void {
  if (status === 'advancing')
    throw refusal(429, `Test clock advancement underway - cannot perform modifications: ${id}`, 'rate_limit');
}

/** How far the clock may advance: two intervals of its shortest subscription, or two years without subscriptions. */
export function advanceLimit(store: Store, { id, frozen_time: from }: TestClock): number {
  const ends = store.subscriptions
    .allWithin('test_clock', id)
    .flatMap(({ ended_at, items }) =>
      ended_at !== null
        ? []
        : items.data.flatMap(({ price: { recurring } }) =>
            recurring === null
              ? []
              : [addIntervals(from, recurring.interval, intervalsMax * recurring.interval_count)],
          ),
    );
  return Math.min(addIntervals(from, 'year', yearsMax), ...ends);
}

/** Ends the advance of a clock, at its target or after a failure. */
export function clockStopped(
  store: Store,
  id: string,
  result: 'internal_failure' | { readonly at: number },
): void {
  const before = store.testClocks.get(id);
  if (before === undefined) return;
  const status = result === 'internal_failure' ? result : 'ready';
  store.update(`test_helpers.test_clock.${status}`, store.testClocks, before, {
    ...(result !== 'internal_failure' && { frozen_time: result.at }),
    status,
    status_details: {},
  });
}

/** Deletes the clock with its customers and everything that belongs to them. */
export function deleteTestClock(store: Store, clock: TestClock): void {
  for (const { id } of store.customers.allWithin('test_clock', clock.id)) {
    removeWithin(store, 'customer', id);
    store.remove(store.customers, id);
  }
  store.remove(store.testClocks, clock.id);
  store.emit('test_helpers.test_clock.deleted', clock);
}

/** The indexes through which an object belongs to another one. */
const ownerIndexes = ['payment_intent', 'charge', 'invoice', 'source'];

function removeWithin(store: Store, index: string, key: string): void {
  for (const { collection, id } of store.allWithin(index, key)) {
    store.remove(collection, id);
    for (const owner of ownerIndexes) removeWithin(store, owner, id);
  }
}
