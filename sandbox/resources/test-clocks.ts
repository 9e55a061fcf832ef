import { advanceLimit, checkReady, deleteTestClock } from '../billing/test-clock.ts';
import { existingCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import * as p from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

/** The processor's own limits. */
const nameLengthMax = 300;
const lifetimeSeconds = 30 * 86_400;
const customersMax = 3;
/** The year 2100. A later time is probably in milliseconds, and its renewals would have no date. */
const frozenTimeMax = 4_102_444_800;
const frozenTime = p.integer(1, frozenTimeMax);

const testClocks = new Resource('test_clocks', (store) => store.testClocks, {
  path: 'test_helpers/test_clocks',
});

export const testClockOperations = [
  testClocks.create(
    { frozen_time: p.required(frozenTime), name: p.text(nameLengthMax), customer: p.text() },
    ({ store }, params) => {
      const now = store.now();
      const clock = store.put(store.testClocks, {
        ...store.blank(store.testClocks, 'test_helpers.test_clock', now),
        deletes_after: now + lifetimeSeconds,
        frozen_time: params.frozen_time,
        name: params.name ?? null,
        status: 'ready',
        status_details: {},
      });
      if (params.customer !== undefined) attach(store, params.customer, clock.id);
      store.emit('test_helpers.test_clock.created', clock);
      return clock;
    },
  ),
  testClocks.retrieve(),
  testClocks.action(
    'advance',
    { frozen_time: p.required(frozenTime) },
    ({ store }, before, { frozen_time: target }) => {
      checkReady(before);
      if (target <= before.frozen_time)
        throw badParam("The new frozen time must be after the clock's current frozen time.", 'frozen_time');
      const limit = advanceLimit(store, before);
      if (target > limit)
        throw badParam(
          `A test clock can advance by at most two intervals of its shortest subscription, or two years without subscriptions. The limit is now ${limit}.`,
          'frozen_time',
        );
      return store.update('test_helpers.test_clock.advancing', store.testClocks, before, {
        status: 'advancing',
        status_details: { advancing: { target_frozen_time: target } },
      });
    },
  ),
  testClocks.delete((store, clock) => {
    checkReady(clock);
    deleteTestClock(store, clock);
  }),
  testClocks.list({}, { hasCreated: false }),
];

/** Moves an existing customer with its subscriptions and invoices to the clock. */
function attach(store: Store, customerId: string, clockId: string): void {
  const customer = existingCustomer(store, customerId);
  if (customer.test_clock !== null)
    throw wrongState(`Customer ${customerId} is already attached to a test clock.`, undefined, {
      param: 'customer',
    });
  store.change(store.customers, customer, { test_clock: clockId });
  for (const subscription of store.subscriptions.allWithin('customer', customerId))
    store.change(store.subscriptions, subscription, { test_clock: clockId });
  for (const invoice of store.invoices.allWithin('customer', customerId))
    store.change(store.invoices, invoice, { test_clock: clockId });
}

/** Checks that a new customer can be attached to the test clock. */
export function checkAttachable(store: Store, clockId: string | undefined): void {
  if (clockId === undefined) return;
  store.testClocks.existing(clockId, 'test_clock');
  if (store.customers.allWithin('test_clock', clockId).length >= customersMax)
    throw wrongState(`A test clock can have at most ${customersMax} customers.`, undefined, {
      param: 'test_clock',
    });
}
