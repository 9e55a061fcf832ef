import { checkReady, testClockIdOf } from '../billing/test-clock.ts';
import type { Store } from '../state/store.ts';
import type { FormMap } from './form.ts';
import type { TestClock } from './objects.ts';
import type { Call, Operation } from './operation.ts';

/** Parameters with the id of a customer, or of an object of a customer. */
const ownerParams = {
  customer: 'customers',
  from_subscription: 'subscriptions',
  invoice: 'invoices',
  subscription: 'subscriptions',
} as const;

/**
 * The time of a request that changes something: the time of the customer's test clock, or null for the world's own
 * time. Throws while that clock is advancing.
 */
export function requestTime(operation: Operation, { store, id }: Call, form: FormMap): number | null {
  if (operation.method === 'GET' || store.testClocks.size === 0) return null;
  const clock = clockOf(store, operation.path.split('/')[0] ?? '', id, form);
  if (clock === undefined) return null;
  checkReady(clock);
  return clock.frozen_time;
}

function clockOf(store: Store, resource: string, id: string, form: FormMap): TestClock | undefined {
  const chosen = form.get('test_clock');
  const owners = Object.entries(ownerParams).map(
    ([param, collection]) => [collection, form.get(param)] as const,
  );
  const clockIds = [
    ...(typeof chosen === 'string' ? [chosen] : []),
    ...[[resource, id] as const, ...owners].map(([collection, ownerId]) =>
      typeof ownerId === 'string' ? clockIdOf(store, collection, ownerId) : null,
    ),
  ];
  return clockIds.flatMap((clockId) => store.testClocks.get(clockId) ?? [])[0];
}

/** The time of an object's customer, for changes outside the API's requests. */
export function objectTime(store: Store, collection: string, id: string): number | null {
  return store.testClocks.get(clockIdOf(store, collection, id) ?? '')?.frozen_time ?? null;
}

function clockIdOf(store: Store, collection: string, id: string): string | null {
  const found = store.find(collection, id);
  if (found === undefined) return null;
  if (found.object === 'customer') return testClockIdOf(store, id);
  return 'customer' in found && typeof found.customer === 'string'
    ? testClockIdOf(store, found.customer)
    : null;
}
