import type { Backend } from '../support/backend.ts';
import { createCheckout } from '../support/checkouts.ts';
import type { Client } from '../support/client.ts';
import { appendEvents, type EventPage, newEvent } from '../support/event-feed.ts';
import { createMeter } from '../support/usage.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';
import { createOneOfEach } from './one-of-each.ts';
import { type FuzzRequest, hookUrl, knownText, type Resource } from './operation-parts.ts';

/** How many ids of each kind are kept: enough to have objects in every state, few enough to use some of them twice. */
const keptMax = 12;
/** No object has it. */
const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

interface PoolTill extends Client, Pick<Backend, 'stripe' | 'sql'> {
  /** Sends an event of the processor. */
  take(event: string): Promise<unknown>;
  /** Applies the events of what was created. */
  settle(): Promise<void>;
  /** Only one runs at a time. */
  stopResyncs(): Promise<unknown>;
}

/** Ids of objects that exist, in as many states as possible, for requests to name. */
export class IdPool {
  readonly #till: PoolTill;
  readonly #ids: Record<Resource, string[]> = {
    customers: [unknownId],
    plans: [unknownId],
    payments: [unknownId],
    subscriptions: [unknownId],
    invoices: [unknownId],
    'webhook-events': [unknownId],
    'payment-methods': ['pm_unknown'],
    'api-keys': [unknownId],
    resyncs: [unknownId],
    events: [],
    'event-endpoints': [unknownId],
    checkouts: [unknownId],
    meters: [unknownId],
  };

  constructor(till: PoolTill) {
    this.#till = till;
  }

  /** Adds a new object of each kind. Requests change the older ones until little can happen to them. */
  async refill(): Promise<void> {
    const till = this.#till;
    const { customer, plan, open, authorised, paid, subscription, paymentMethodId, unpaid, spare } =
      await createOneOfEach(till);
    const ignored = eventOf('balance.available');
    await till.take(ignored);
    const apiKey = await till.post<{ readonly id: string }>('/api-keys', { name: 'fuzz', scopes: ['read'] });
    const [invoice] = await till.sql<{ id: string }>(
      'select id from till.invoices order by created_at desc, id desc limit 1',
    );
    // There is a maximum.
    await till.sql('delete from till.event_endpoints');
    const endpoint = await till.post<{ id: string }>('/event-endpoints', {
      url: hookUrl,
    });
    // The older ones were just deleted. The unknown id covers endpoints that do not exist.
    this.#ids['event-endpoints'].splice(1);
    this.#add('event-endpoints', endpoint.id);
    this.#add('customers', customer.id, spare.customer.id);
    // At the place of its customer, so that the same number names both.
    this.#add('payment-methods', paymentMethodId, spare.paymentMethodId);
    this.#add('plans', plan.id);
    this.#add('payments', open.id, authorised.id, paid.id);
    this.#add('subscriptions', subscription.id, unpaid.id);
    const sale = {
      customerId: spare.customer.id,
      payment: { amount: 500, currency: 'eur', description: 'Book' },
    };
    this.#add('checkouts', (await createCheckout(till, sale)).checkout.id);
    // There is a maximum.
    await till.sql('delete from till.meters');
    this.#ids.meters.splice(1);
    this.#add('meters', (await createMeter(till, { key: knownText })).id);
    this.#add('invoices', invoice?.id ?? unknownId);
    this.#add('webhook-events', idOf(ignored));
    this.#add('api-keys', apiKey.id);
    this.#add(
      'resyncs',
      (await till.post<{ readonly id: string }>('/resyncs', { customerId: customer.id })).id,
    );
    await till.stopResyncs();
    await appendEvents(till.sql, newEvent());
    const { data } = await till.get<EventPage>('/events?limit=1');
    this.#add('events', ...data.map(({ id }) => id));
  }

  /** Replaces the placeholders in a request by ids. */
  fillIn(request: FuzzRequest): FuzzRequest {
    const { path, body } = request;
    return {
      ...request,
      path: this.#insertIds(path),
      body: typeof body === 'string' ? this.#insertIds(body) : body,
    };
  }

  #insertIds(text: string): string {
    return text.replaceAll(/<([a-z-]+):(\d+)>/g, (whole, resource: string, number: string) => {
      if (!Object.hasOwn(this.#ids, resource)) return whole;
      // The line above makes sure that it is one of the resources.
      const ids = this.#ids[resource as Resource];
      return ids[Number(number) % ids.length] ?? whole;
    });
  }

  #add(resource: Resource, ...ids: readonly string[]): void {
    const kept = this.#ids[resource];
    kept.push(...ids);
    // The first one stays: that no object has the id is a state, too.
    kept.splice(1, Math.max(0, kept.length - keptMax));
  }
}
