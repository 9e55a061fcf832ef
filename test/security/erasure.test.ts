import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dumpTables } from '../support/dump-tables.ts';
import { effort } from '../support/effort.ts';
import {
  type CreatedPaymentBody,
  type CreatedSubscriptionBody,
  type CustomerBody,
  confirmPayment,
  confirmSecret,
  createPayment,
  createPlan,
  type PaymentBody,
  readPayment,
  type SubscriptionBody,
} from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';
import { holdRows } from '../webhooks/row-lock.ts';

/** What is to be forgotten, and found nowhere afterwards. */
const person = {
  email: 'ada.lovelace@erase.example',
  name: 'Ada Lovelace of Erase',
  phone: '+44 7700 900123',
} as const;
/** The same, of what the application adds. */
const identity = {
  externalId: 'ada-external-id-of-erase',
  metadata: { note: 'Ada note of Erase', 'ada.key.of.erase': 'x' },
} as const;
const street = '12 Saint James Square';

/** How a customer comes to be deleted. */
const ways: Readonly<Record<string, (till: TillInProcess, customer: CustomerBody) => Promise<unknown>>> = {
  'by the API': (till, { id }) => till.fetch(`/api/v1/customers/${id}`, { method: 'DELETE' }),
  'by a webhook': async (till, { processorCustomerId }) => {
    await till.stripe.customers.del(processorCustomerId);
    await till.settle();
  },
  'at the processor, which a resync notices': async (till, { processorCustomerId }) => {
    await till.stripe.customers.del(processorCustomerId);
    await till.services.resync.all();
  },
};

describe('a customer who is deleted', () => {
  for (const [way, remove] of Object.entries(ways)) {
    test(`${way} is found in no table and no log, whatever comes late, twice, again or fails`, async (t) => {
      const till = await startTill({ in: 'process', for: t });
      const customer = await till.post<CustomerBody>('/customers', { ...person, ...identity });
      const { metadata } = identity;
      const owned = { customerId: customer.id, metadata };
      const order = { ...owned, planId: (await createPlan(till)).id };
      const { subscription, clientSecret } = await till.post<CreatedSubscriptionBody>(
        '/subscriptions',
        order,
      );
      await confirmSecret(till, clientSecret);
      const bill = { ...owned, amount: 900, currency: 'eur' };
      const { payment } = await till.post<CreatedPaymentBody>('/payments', bill);
      await confirmPayment(till, payment);
      const plain = await createPayment(till, { customerId: customer.id });
      // So that the processor's own list has an event that tells of the person.
      await till.stripe.customers.update(customer.processorCustomerId, { description: person.name });
      const earlier = [...eventsAbout(customer), brokenEvent(customer), foreignPayment(customer)];
      await till.settle();
      await till.take(...earlier);
      assert.ok((await traces(till)).length > 0, 'the search must be able to find');
      const pending = updated(customer);
      await till.send(pending);

      await remove(till, customer);
      await till.services.erasure.run();
      assert.deepEqual(await traces(till), []);

      await till.stripe.paymentIntents.cancel(plain.processorPaymentIntentId);
      const late = belongings(customer, { payment, plain, subscription });
      await till.take(...earlier, ...eventsAbout(customer), brokenEvent(customer), ...late);
      for (const event of [...earlier, pending]) await till.post(`/webhook-events/${idOf(event)}/replay`);
      await till.settle();
      // What came after the deletion needs no second search: it was never written.
      assert.deepEqual(await traces(till), []);
      await listEverythingAgain(till);
      await till.drain();
      assert.deepEqual(await traces(till), []);
      // The processor still has the metadata of what belonged to the customer, and a resync reads all of it.
      await till.services.resync.all();
      assert.deepEqual(await traces(till), []);
      assert.equal((await readPayment(till, payment)).status, 'succeeded');
      assert.equal((await readPayment(till, plain)).status, 'canceled', 'late events are still applied');
      assert.equal((await till.fetch(`/api/v1/customers/${customer.id}`)).status, 404);
      await till.services.erasure.run();
      assert.deepEqual(await traces(till), []);
    });
  }

  for (const [clockName, aheadMs] of [
    ['right', 0],
    ['an hour behind', -3_600_000],
    ['an hour ahead', 3_600_000],
  ] as const)
    test(`is searched for once more, for an event that was being stored meanwhile, with a clock that is ${clockName}`, async (t) => {
      const clock = { now: () => new Date(Date.now() + aheadMs) };
      const till = await startTill({ in: 'process', for: t, clock });
      const customer = await till.post<CustomerBody>('/customers', { ...person, ...identity });
      const event = updated(customer);
      await till.send(event);
      const [stored] = await till.sql<{ payload: string }>(
        'select payload from till.webhook_events where id = $1',
        [idOf(event)],
      );
      await ways['by the API']?.(till, customer);
      await till.services.erasure.run();
      // As if its insert had begun before the deletion and ended after the search.
      const slow = `update till.webhook_events set payload = $1, personal_data = 'customer' where id = $2`;
      await till.sql(slow, [stored?.payload, idOf(event)]);
      await till.services.erasure.run();
      assert.notDeepEqual(await traces(till), [], 'the second search is not due yet');
      await till.sql(`update till.customers set erase_at = erase_at - interval '11 minutes'`);
      await till.services.erasure.run();
      assert.deepEqual(await traces(till), []);
      assert.deepEqual(await till.sql('select erase_at from till.customers'), [{ erase_at: null }]);
    });

  test('loses the metadata of a payment that was being recorded meanwhile', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const customer = await till.post<CustomerBody>('/customers', person);
    const { id } = await createPayment(till, { customerId: customer.id });
    await ways['by the API']?.(till, customer);
    await till.services.erasure.run();
    // As if its insert had begun before the deletion and ended after the search.
    const triggers = (state: 'disable' | 'enable') =>
      till.sql(`alter table till.payments ${state} trigger all`);
    await triggers('disable');
    await till.sql('update till.payments set metadata = $1 where id = $2', [
      JSON.stringify(identity.metadata),
      id,
    ]);
    await triggers('enable');
    assert.notDeepEqual(await traces(till), []);
    await till.sql(`update till.customers set erase_at = erase_at - interval '11 minutes'`);
    await till.services.erasure.run();
    assert.deepEqual(await traces(till), []);
    // Nor does a row take any that is written later.
    await till.sql('update till.payments set metadata = $1', [JSON.stringify(identity.metadata)]);
    assert.deepEqual(await till.sql('select metadata from till.payments'), [{ metadata: null }]);
  });

  /** Runs a write, and stops it after it has written its rows, and before it commits. */
  async function stopBeforeCommit(till: TillInProcess, change: string, write: () => Promise<unknown>) {
    await till.sql(`create function till.wait_for_test() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock(1); return null; end'`);
    await till.sql(`create trigger wait_for_test after ${change} for each row
      execute function till.wait_for_test()`);
    const held = await holdRows(till, 'select pg_advisory_xact_lock(1)');
    const writing = write();
    await held.awaited(1);
    return {
      awaited: () => held.awaited(2),
      end: async () => {
        await held.release();
        await writing;
        // It stays without an effect: dropping it would lock tables that a search may be using.
        await till.sql(`create or replace function till.wait_for_test() returns trigger language plpgsql as
          'begin return null; end'`);
      },
    };
  }

  test('is not found in an event that was being stored during the deletion and the first search', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const customer = await till.post<CustomerBody>('/customers', { ...person, ...identity });
    await till.settle();
    const storing = await stopBeforeCommit(till, 'insert on till.webhook_events', () =>
      till.send(updated(customer)),
    );
    const removing = (async () => {
      await ways['by the API']?.(till, customer);
      await till.services.erasure.run();
    })();
    // The deletion waits for the insert, which could not see it.
    await Promise.race([storing.awaited(), removing]);
    await storing.end();
    await removing;
    assert.deepEqual(await traces(till), []);
    assert.deepEqual(till.deadlocks, []);
  });

  test('is not found in what a change of metadata wrote, if the process that deletes dies at once', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const customer = await till.post<CustomerBody>('/customers', { email: 'ada@example.com' });
    const { id } = await createPayment(till, { customerId: customer.id });
    const changing = await stopBeforeCommit(till, 'update on till.payments', () =>
      till.call('PATCH', `/payments/${id}`, { metadata: identity.metadata }),
    );
    // As a process leaves it that dies right after the commit. The next search is that of another process.
    await till.sql('update till.customers set deleted_at = now(), email = null where id = $1', [customer.id]);
    const searching = till.services.erasure.run();
    await Promise.race([changing.awaited(), searching]);
    await changing.end();
    await searching;
    assert.deepEqual(await traces(till), []);
    assert.deepEqual(till.deadlocks, []);
  });

  test('is not found in an unchecked event that was being redacted during the deletion and the first search', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const customer = await till.post<CustomerBody>('/customers', { ...person, ...identity });
    const event = updated(customer);
    await till.take(event);
    await till.sql(`update till.webhook_events set personal_data = 'unchecked' where id = $1`, [idOf(event)]);
    const redacting = await stopBeforeCommit(till, 'update on till.webhook_events', () =>
      till.services.erasure.run(),
    );
    const removing = (async () => {
      await ways['by the API']?.(till, customer);
      await till.services.erasure.run();
    })();
    await Promise.race([redacting.awaited(), removing]);
    await redacting.end();
    await removing;
    assert.deepEqual(await traces(till), []);
    assert.deepEqual(till.deadlocks, []);
  });

  const eventCount = effort({ short: 1_000, long: 100_000 });
  test(`has ${eventCount} events taken out of the inbox, even if the first search dies in the middle`, async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const customer = await till.post<CustomerBody>('/customers', person);
    const event = updated(customer);
    await till.take(event);
    await till.sql(
      `insert into till.webhook_events (id, type, object_id, created_at, payload, personal_data, state, next_try_at, received_at)
       select id || number, type, object_id, created_at, payload, personal_data, state, next_try_at, received_at
       from till.webhook_events, generate_series(2, $1::int) as number where id = $2`,
      [eventCount, idOf(event)],
    );
    await ways['by the API']?.(till, customer);
    // The first batch is written, the second meets a locked row, and loses its connection there.
    const second = 'select id from till.webhook_events order by created_at, id offset 150 limit 1';
    const held = await holdRows(till, `select from till.webhook_events where id = (${second}) for update`);
    const search = assert.rejects(till.services.erasure.run());
    await held.awaited(1);
    await till.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'till'
       and datname = current_database() and wait_event_type = 'Lock'`,
    );
    await search;
    await held.release();
    assert.notDeepEqual(await traces(till), []);
    await till.services.erasure.run();
    assert.deepEqual(await traces(till), []);
  });
});

test('an event that must be searched again loses what no mirror needs, and says the same when it is replayed', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const { id, processorCustomerId } = await till.post<CustomerBody>('/customers', person);
  const events = [...eventsAbout({ processorCustomerId })];
  await till.take(...events);
  for (const event of events) {
    await till.sql(`update till.webhook_events set payload = $1, personal_data = default where id = $2`, [
      event,
      idOf(event),
    ]);
  }
  assert.ok((await traces(till)).includes(street));
  await till.services.erasure.run();
  assert.ok(!(await traces(till)).includes(street));
  const invoices = 'select * from till.invoices order by id';
  const before = await till.sql(invoices);
  for (const event of events) await till.post(`/webhook-events/${idOf(event)}/replay`);
  await till.drain();
  assert.deepEqual(await till.sql(invoices), before);
  assert.equal((await till.get<CustomerBody>(`/customers/${id}`)).name, person.name);
});

test("of a payment that is not Till's nothing is kept once its event is ignored", async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const customer = await till.post<CustomerBody>('/customers', { email: 'grace@example.com' });
  const event = foreignPayment(customer);
  await till.take(event);
  assert.ok((await traces(till)).includes(identity.metadata.note));
  await till.services.erasure.run();
  assert.deepEqual(await traces(till), []);
  await till.post(`/webhook-events/${idOf(event)}/replay`);
  await till.drain();
  assert.deepEqual(await till.sql('select state, personal_data from till.webhook_events'), [
    { state: 'ignored', personal_data: 'none' },
  ]);
});

test("of a customer that is not Till's nothing is kept once the event is ignored", async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const stranger = { processorCustomerId: 'cus_stranger' };
  const events = [updated(stranger), brokenEvent(stranger)];
  await till.take(...events);
  await till.services.erasure.run();
  assert.deepEqual(await traces(till), []);
  for (const event of events) await till.post(`/webhook-events/${idOf(event)}/replay`);
  await till.drain();
  assert.deepEqual(await till.sql('select distinct state, personal_data from till.webhook_events'), [
    { state: 'ignored', personal_data: 'none' },
  ]);
});

test('an event that cannot be read is reported without what it says of a person', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const { processorCustomerId } = await till.post<CustomerBody>('/customers', person);
  const phone = 447_700_900_123;
  const event = eventOf('customer.updated', { id: processorCustomerId, phone });
  await till.take(event);
  const [row] = await till.sql<{ state: string; last_error: string }>(
    'select state, last_error from till.webhook_events where id = $1',
    [idOf(event)],
  );
  assert.equal(row?.state, 'failed');
  assert.match(row?.last_error ?? '', /customer\.phone/);
  assert.doesNotMatch(`${row?.last_error} ${JSON.stringify(till.lines)}`, new RegExp(String(phone)));
});

type Whose = Pick<CustomerBody, 'processorCustomerId'>;

function updated({ processorCustomerId: id }: Whose): string {
  const details = { ...person, address: { line1: street }, description: person.name };
  // Without an id of Till: a customer that has no row is unknown.
  return eventOf('customer.updated', { id, ...details, metadata: identity.metadata });
}

/** A payment of this customer that another application created. */
function foreignPayment({ processorCustomerId: customer }: Whose): string {
  return eventOf('payment_intent.succeeded', { id: 'pi_foreign', customer, metadata: identity.metadata });
}

/** Events about what belongs to the customer: one of an unknown payment, one that cancels a payment. */
function belongings(
  { processorCustomerId: customer }: Whose,
  { payment, plain, subscription }: Belongings,
): readonly string[] {
  const metadataWith = (till_id: string) => ({ metadata: { ...identity.metadata, till_id } });
  const own = (created: { readonly id: string }) => ({ customer, ...metadataWith(created.id) });
  const { processorSubscriptionId } = subscription;
  return [
    eventOf('payment_intent.succeeded', { id: payment.processorPaymentIntentId, ...own(payment) }),
    eventOf('payment_intent.canceled', { id: plain.processorPaymentIntentId, ...own(plain) }),
    eventOf('customer.subscription.updated.newer', { id: processorSubscriptionId, ...own(subscription) }),
    eventOf('customer.subscription.deleted', { id: processorSubscriptionId, ...own(subscription) }),
  ];
}

interface Belongings {
  readonly payment: PaymentBody;
  /** Without metadata when the customer was deleted. */
  readonly plain: PaymentBody;
  readonly subscription: SubscriptionBody;
}

/** Its object lacks what every customer has, so that it fails at once. */
function brokenEvent({ processorCustomerId: id }: Whose): string {
  return eventOf('customer.updated', { id, ...person, metadata: undefined });
}

/** Events of many kinds that tell of the person. */
function eventsAbout(customer: Whose): readonly string[] {
  const { processorCustomerId } = customer;
  const details = { ...person, address: { line1: street } };
  const session = { id: 'cs_1', object: 'checkout.session', customer_details: details };
  return [
    updated(customer),
    eventOf('invoice.paid.newer', {
      id: 'in_about_ada',
      customer: processorCustomerId,
      customer_email: person.email,
      customer_name: person.name,
      customer_phone: person.phone,
      customer_address: { line1: street },
      description: `For ${person.name}`,
      metadata: { buyer: person.name },
    }),
    eventOf('charge.refunded.newer', {
      customer: processorCustomerId,
      billing_details: details,
      receipt_email: person.email,
      shipping: details,
    }),
    eventOf('balance.available', session, { type: 'checkout.session.completed' }),
    eventOf('customer.updated', { id: processorCustomerId, ...details }, { type: 'customer.created' }),
  ];
}

/** What of the person is anywhere in the database or in the log. */
async function traces(till: TillInProcess): Promise<readonly string[]> {
  const everything = `${await dumpTables(till.databaseUrl)}\n${JSON.stringify(till.lines)}`;
  const { externalId, metadata } = identity;
  const texts = [...Object.values(person), externalId, metadata.note, 'ada.key.of.erase', street];
  return texts.filter((text) => everything.includes(text));
}

/** Recovery reads the processor's whole list of events, as after a long outage. */
async function listEverythingAgain(till: TillInProcess): Promise<void> {
  await till.sql('delete from till.webhook_events');
  await till.sql(`update till.recovery set read_until = now() - interval '1 day'`);
  await till.sql('update till.jobs set leased_until = now() where run is not null');
  assert.ok(await till.services.recovery.run());
  const listed = await till.sql(`select 1 as found from till.webhook_events where type = 'customer.updated'`);
  assert.ok(listed.length > 0);
}
