import type { TillInProcess } from '../support/till-in-process.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';
import type { Resource } from './operation-parts.ts';
import { fillShelf } from './shelf.ts';

/** How many of each are kept to choose from: enough to find some in every state, few enough to meet them again. */
const keptMax = 12;
/** Nobody has it. */
const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

/** Things that exist, in as many states as possible, for requests to be about. */
export class Stock {
  readonly #till: TillInProcess;
  readonly #ids: Record<Resource, string[]> = {
    customers: [unknownId],
    plans: [unknownId],
    payments: [unknownId],
    subscriptions: [unknownId],
    invoices: [unknownId],
    'webhook-events': [unknownId],
  };

  constructor(till: TillInProcess) {
    this.#till = till;
  }

  /** Adds a fresh thing of each kind; requests wear the older ones out. */
  async renew(): Promise<void> {
    const till = this.#till;
    const { customer, plan, open, paid, subscription } = await fillShelf(till);
    const ignored = eventOf('balance.available');
    await till.take(ignored);
    const [invoice] = await till.sql<{ id: string }>(
      'select id from till.invoices order by created_at desc, id desc limit 1',
    );
    this.#add('customers', customer.id);
    this.#add('plans', plan.id);
    this.#add('payments', open.id, paid.id);
    this.#add('subscriptions', subscription.id);
    this.#add('invoices', invoice?.id ?? unknownId);
    this.#add('webhook-events', idOf(ignored));
  }

  /** Puts ids in where a request left room for them. */
  fill(text: string): string {
    return text.replaceAll(/<([a-z-]+):(\d+)>/g, (whole, resource: string, number: string) => {
      if (!Object.hasOwn(this.#ids, resource)) return whole;
      // Only ever one of the resources, as the line above has made sure.
      const ids = this.#ids[resource as Resource];
      return ids[Number(number) % ids.length] ?? whole;
    });
  }

  #add(resource: Resource, ...ids: readonly string[]): void {
    const kept = this.#ids[resource];
    kept.push(...ids);
    // The first one stays: an id that nobody has is a state too.
    kept.splice(1, Math.max(0, kept.length - keptMax));
  }
}
