import type { Stripe } from 'stripe';
import { createRandom, type Random } from '#runtime/seed/random.ts';
import { mainItemTruth } from '../../support/checks/subscription-truth.ts';

/** As many as the sandbox's own deliverer sends at a time. */
const deliveriesAtOnce = 24;
/** The most rounds by which a delivery is delayed. The others arrive at the end. */
const delayRoundsMax = 2;

const lostShare = 0.1;
const repeatedShare = 0.2;
/** Endpoints of older versions get older shapes; both are understood at any time. */
const olderShare = 0.3;

interface Delivery {
  readonly event: Stripe.Event;
  /** For how many more rounds it is delayed. */
  delayRounds: number;
}

interface DeliveryOptions {
  readonly stripe: Stripe;
  readonly secret: string;
  readonly seed: number;
  /** Sends one delivery and resolves when it is acknowledged. */
  readonly send: (body: string, signature: string) => Promise<void>;
}

/** Delivers the processor's events to Till: shuffled, repeated, delayed, and some of them never. */
export class EventDelivery {
  readonly #options: DeliveryOptions;
  readonly #random: Random;
  readonly #waiting: Delivery[] = [];
  readonly #seen = new Set<string>();
  readonly #events: Stripe.Event[] = [];

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#random = createRandom(options.seed);
  }

  /** Every event of the processor so far, oldest first. */
  get events(): readonly Stripe.Event[] {
    return this.#events;
  }

  /** Reads the events that are new at the processor, and decides how each is delivered. */
  async collect(): Promise<void> {
    const random = this.#random;
    const created: Stripe.Event[] = [];
    // Newest first, so that the first one known from before ends it.
    for await (const event of this.#options.stripe.events.list({ limit: 100 })) {
      if (this.#seen.has(event.id)) break;
      created.push(event);
    }
    this.#events.push(...created.toReversed());
    for (const event of created) {
      this.#seen.add(event.id);
      if (random() < lostShare) continue;
      const copies = random() < repeatedShare ? 2 + Math.floor(random() * 2) : 1;
      for (let copy = 0; copy < copies; copy += 1)
        this.#waiting.push({ event, delayRounds: Math.floor(random() * (delayRoundsMax + 1)) });
    }
  }

  /** Delivers what is due, or at the end everything that is left. */
  async deliver(which: 'due' | 'all'): Promise<void> {
    const random = this.#random;
    const due = this.#waiting.filter(({ delayRounds }) => which === 'all' || delayRounds === 0);
    const left = this.#waiting.filter((delivery) => !due.includes(delivery));
    this.#waiting.splice(0, this.#waiting.length, ...left);
    for (const delivery of left) delivery.delayRounds -= 1;
    const shuffled = due.map((delivery) => ({ delivery, at: random() })).toSorted((a, b) => a.at - b.at);
    await inLanes(
      deliveriesAtOnce,
      shuffled.map(({ delivery }) => delivery.event),
      (event) => this.deliverOne(event),
    );
  }

  async deliverOne(event: Stripe.Event): Promise<void> {
    const { stripe, secret, send } = this.#options;
    const payload = JSON.stringify(this.#random() < olderShare ? olderShape(event) : event);
    await send(payload, stripe.webhooks.generateTestHeaderString({ payload, secret }));
  }
}

/** Works through a list, several at a time. */
export async function inLanes<T>(
  lanes: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const lane = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** The event as an endpoint pinned to an older version gets it: what the mirrors read lay elsewhere then. */
function olderShape(event: Stripe.Event): object {
  const { object } = event.data;
  const data = (changes: object) => ({ ...event, api_version: '2024-06-20', data: { object: changes } });
  if (object.object === 'subscription') {
    const main = mainItemTruth(object);
    if (main === undefined) return event;
    const { current_period_start, current_period_end } = main;
    const withoutPeriod = object.items.data.map(
      ({ current_period_start: _start, current_period_end: _end, ...item }) => item,
    );
    const items = { ...object.items, data: withoutPeriod };
    return data({ ...object, current_period_start, current_period_end, items });
  }
  if (object.object === 'invoice') {
    const { parent, ...rest } = object;
    return data({ ...rest, subscription: parent?.subscription_details?.subscription ?? null });
  }
  return event;
}
