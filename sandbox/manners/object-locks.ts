import type { FormMap } from '../wire/form.ts';
import type { Call, Operation } from '../wire/operation.ts';

/** Parameters with the id of an object that the operation changes too. */
const changedParams = ['charge', 'from_subscription', 'invoice', 'payment_intent', 'subscription'];

/** The objects that are being written. */
export class ObjectLocks {
  readonly #locked = new Set<string>();

  /** Locks all of these objects, and returns what unlocks them. Undefined if one of them is locked. */
  lock(ids: readonly string[]): (() => void) | undefined {
    if (ids.some((id) => this.#locked.has(id))) return undefined;
    for (const id of ids) this.#locked.add(id);
    return () => {
      for (const id of ids) this.#locked.delete(id);
    };
  }
}

/** The objects that a request changes: the one in its path, and those that its parameters name. */
export function changedIds({ name, method }: Operation, { store, id }: Call, form: FormMap): string[] {
  if (method === 'GET' || name === 'invoices.create_preview') return [];
  // An item is a part of its subscription.
  const [ofItem] = name.startsWith('subscription_items.') ? store.subscriptions.allWithin('item', id) : [];
  // A customer's subscriptions are created one after the other: the first one sets the customer's currency.
  const params = name === 'subscriptions.create' ? ['customer'] : changedParams;
  const named = params.map((param) => form.get(param));
  return [...new Set([ofItem?.id ?? id, ...named])].filter(
    (value): value is string => typeof value === 'string' && value !== '',
  );
}
