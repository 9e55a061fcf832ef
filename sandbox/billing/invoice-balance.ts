import { accountOf } from '../payments/account.ts';
import { livingCustomer, updateCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import type { Customer, Invoice, TaxRate } from '../wire/objects.ts';

/** The customer's balance that an invoice in this currency can use. */
export function usableBalance(buyer: Customer | null, currency: string): number {
  return buyer !== null && (buyer.currency ?? currency) === currency ? buyer.balance : 0;
}

/** Uses the customer's credit for an invoice that becomes final, or credits a negative total to them. */
export function useBalance(
  store: Store,
  { customer, currency, total }: Invoice,
): Pick<Invoice, 'amount_due' | 'amount_remaining' | 'ending_balance' | 'starting_balance'> {
  const buyer = livingCustomer(store, customer);
  const starting = usableBalance(buyer, currency);
  const { due, ending } = settledWith(total, starting);
  if (ending !== starting && buyer !== null && (buyer.currency ?? currency) === currency)
    updateCustomer(store, customer, { balance: ending, currency });
  return { amount_due: due, amount_remaining: due, ending_balance: ending, starting_balance: starting };
}

/** Returns to the customer's balance what a void invoice took from it. */
export function returnBalance(store: Store, invoice: Invoice): void {
  const used = (invoice.ending_balance ?? invoice.starting_balance) - invoice.starting_balance;
  const buyer = livingCustomer(store, invoice.customer);
  if (used !== 0 && buyer !== null)
    updateCustomer(store, invoice.customer, { balance: buyer.balance - used });
}

/** What an invoice of the customer takes from the account, and the customer's tax ids. */
export function accountParts(
  store: Store,
  customer: string,
): {
  readonly country: string;
  readonly taxIds: NonNullable<Invoice['customer_tax_ids']>;
  readonly taxRate: (id: string) => TaxRate | undefined;
} {
  return {
    country: accountOf(store).country,
    taxIds: store.taxIds.allWithin('customer', customer).map(({ type, value }) => ({ type, value })),
    taxRate: (id: string) => store.taxRates.get(id),
  };
}

/**
 * The amount of an invoice that is left to pay, and the customer's balance afterwards. A negative balance is a credit,
 * which pays for the invoice first. A positive balance is a debt, which is added to the invoice. A negative total
 * becomes a credit.
 */
export function settledWith(
  total: number,
  balance: number,
): { readonly due: number; readonly ending: number } {
  const owed = total + balance;
  return { due: Math.max(0, owed), ending: Math.min(0, owed) };
}
