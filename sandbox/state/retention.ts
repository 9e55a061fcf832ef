import type { WireObject } from '../wire/objects.ts';

/** How many obsolete entries a world keeps of each kind. The processor has no such limits. */
export interface Retention {
  /** Delivered events. A test suite reads far fewer, and they take about 130 MB. */
  readonly eventsMax: number;
  /** Responses to requests with an idempotency key. Clients retry within seconds. */
  readonly memosMax: number;
  /**
   * Deleted customers, tokens, portal sessions, expired checkout sessions, and payment methods without a customer or a
   * payment. They take about 10 MB.
   */
  readonly spentMax: number;
}

export const defaultRetention: Retention = { eventsMax: 100_000, memosMax: 100_000, spentMax: 10_000 };

/**
 * Objects that the processor still shows although they cannot be used: deleted customers, payment methods that were
 * detached or never attached, tokens, which are used at once or never, portal sessions, which are short, and expired
 * checkout sessions. A payment keeps its payment method. Without a limit, a world that deletes what it creates would
 * grow forever.
 */
export class SpentObjects {
  readonly #max: number;
  /** Collection and id, oldest first. */
  readonly #spent = new Map<string, { readonly collection: string; readonly id: string }>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Records the new version of an object. Returns the object that is removed to make room, if any. */
  note(
    collection: string,
    value: WireObject,
  ): { readonly collection: string; readonly id: string } | undefined {
    const key = `${collection} ${value.id}`;
    this.#spent.delete(key);
    if (!isSpent(value)) return undefined;
    this.#spent.set(key, { collection, id: value.id });
    if (this.#spent.size <= this.#max) return undefined;
    const [oldest] = this.#spent;
    if (oldest === undefined) return undefined;
    this.#spent.delete(oldest[0]);
    return oldest[1];
  }

  clear(): void {
    this.#spent.clear();
  }
}

function isSpent(value: WireObject): boolean {
  if ('deleted' in value && value.deleted === true) return true;
  if (['token', 'confirmation_token', 'billing_portal.session'].includes(value.object)) return true;
  if (value.object === 'checkout.session') return 'status' in value && value.status === 'expired';
  return value.object === 'payment_method' && 'customer' in value && value.customer === null;
}
