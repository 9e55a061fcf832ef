import type { Store } from '../state/store.ts';
import type { BalanceTransaction, Charge } from '../wire/objects.ts';

/** The processor's standard price for card payments: 2.9 % and 30 of the smallest unit. */
const feeRate = 0.029;
const feeFixed = 30;
/** The processor pays out card payments after two days. */
const availableAfterSeconds = 2 * 86_400;

interface NewBalanceTransaction {
  readonly amount: number;
  readonly currency: string;
  readonly description: string | null;
  readonly fee?: { readonly amount: number; readonly description: string };
  readonly reportingCategory: string;
  readonly source: string;
  readonly type: BalanceTransaction['type'];
  readonly isPending?: boolean;
}

/** Records a change of the account's balance. */
export function addBalanceTransaction(store: Store, input: NewBalanceTransaction): BalanceTransaction {
  const { amount, currency, fee } = input;
  const now = store.worldNow();
  return store.put(store.balanceTransactions, {
    id: store.balanceTransactions.newId(),
    object: 'balance_transaction',
    amount,
    available_on: input.isPending ? now + availableAfterSeconds : now,
    balance_type: 'payments',
    created: now,
    currency,
    description: input.description,
    exchange_rate: null,
    fee: fee?.amount ?? 0,
    fee_details: fee === undefined ? [] : [{ ...fee, application: null, currency, type: 'stripe_fee' }],
    net: amount - (fee?.amount ?? 0),
    reporting_category: input.reportingCategory,
    source: input.source,
    status: input.isPending ? 'pending' : 'available',
    type: input.type,
  });
}

/** The id of the transaction that a captured charge adds to the balance. */
export function chargeTransaction(
  store: Store,
  charge: Pick<Charge, 'id' | 'amount_captured' | 'currency' | 'description'>,
): string {
  const amount = charge.amount_captured;
  return addBalanceTransaction(store, {
    amount,
    currency: charge.currency,
    description: charge.description,
    fee: { amount: Math.round(amount * feeRate) + feeFixed, description: 'Stripe processing fees' },
    reportingCategory: 'charge',
    source: charge.id,
    type: 'charge',
    isPending: true,
  }).id;
}

/** Completes a charge whose capture was asynchronous, or returns it as it is. */
export function settleCharge(store: Store, before: Charge): Charge {
  if (!isUnsettled(before)) return before;
  return store.update('charge.updated', store.charges, before, {
    balance_transaction: chargeTransaction(store, before),
  });
}

export function isUnsettled(charge: Charge): boolean {
  return charge.paid && charge.captured && charge.balance_transaction === null;
}
