import type { Store } from '../state/store.ts';
import type { PaymentMethod, SpentPaymentMethod } from '../wire/objects.ts';
import { badParam } from '../wire/wire-error.ts';

/** Marks a payment method that must not be used again: it was detached, or it paid without a customer. */
export function spend(store: Store, method: PaymentMethod): void {
  const spent: SpentPaymentMethod = { id: method.id, object: 'spent_payment_method' };
  store.put(store.spentPaymentMethods, spent);
}

export function checkUnspent(store: Store, method: PaymentMethod, use: 'attach' | 'pay'): void {
  if (store.spentPaymentMethods.get(method.id) === undefined) return;
  throw badParam(
    use === 'attach'
      ? 'This PaymentMethod was previously used without being attached to a Customer or was detached from a Customer, and may not be used again.'
      : 'The provided PaymentMethod was previously used with a PaymentIntent without Customer attachment, shared with a connected account without Customer attachment, or was detached from a Customer. It may not be used again. To use a PaymentMethod multiple times, you must attach it to a Customer first.',
  );
}
