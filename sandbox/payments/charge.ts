import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { Charge, PaymentIntent, PaymentMethod } from '../wire/objects.ts';
import { chargeTransaction } from './balance-transaction.ts';
import { chargeDetails } from './payment-method.ts';
import type { Decline } from './test-cards.ts';

/** The bank holds an authorized amount for a week, as with most cards. */
const authorizationSeconds = 7 * 86_400;

/** Creates the charge of one payment attempt. As at the processor, failed attempts have a charge too. */
export function createCharge(
  store: Store,
  intent: PaymentIntent,
  method: PaymentMethod,
  result: { readonly decline: Decline } | { readonly captured: boolean },
): Charge {
  const decline = 'decline' in result ? result.decline : null;
  const captured = 'captured' in result && result.captured;
  const blank = store.blank(store.charges, 'charge', store.worldNow());
  const amountCaptured = captured ? intent.amount : 0;
  return store.record(decline === null ? 'charge.succeeded' : 'charge.failed', store.charges, {
    ...blank,
    amount: intent.amount,
    amount_captured: amountCaptured,
    amount_refunded: 0,
    ...nulls(
      'application application_fee application_fee_amount failure_balance_transaction on_behalf_of',
      'receipt_number receipt_url review source source_transfer transfer_data transfer_group',
    ),
    // An asynchronous capture adds the amount to the balance after the payment has succeeded.
    balance_transaction:
      captured && intent.capture_method !== 'automatic_async'
        ? chargeTransaction(store, { ...intent, id: blank.id, amount_captured: amountCaptured })
        : null,
    billing_details: method.billing_details,
    calculated_statement_descriptor: 'SANDBOX',
    captured,
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: false,
    failure_code: decline?.code ?? null,
    failure_message: decline?.message ?? null,
    fraud_details: {},
    metadata: intent.metadata,
    outcome: outcomeOf(decline),
    paid: decline === null,
    payment_intent: intent.id,
    payment_method: method.id,
    payment_method_details: chargeDetails(
      method,
      captured || decline !== null ? null : store.worldNow() + authorizationSeconds,
    ),
    receipt_email: intent.receipt_email,
    refunded: false,
    shipping: intent.shipping,
    statement_descriptor: intent.statement_descriptor,
    statement_descriptor_suffix: intent.statement_descriptor_suffix,
    status: decline === null ? 'succeeded' : 'failed',
  });
}

function outcomeOf(decline: Decline | null): Charge['outcome'] {
  const approved = {
    ...nulls('advice_code network_advice_code network_decline_code reason'),
    network_status: 'approved_by_network',
    risk_level: 'normal',
    seller_message: 'Payment complete.',
    type: 'authorized',
  };
  if (decline === null) return approved;
  if (decline.isBlocked)
    return {
      ...approved,
      network_status: 'not_sent_to_network',
      reason: 'highest_risk_level',
      risk_level: 'highest',
      seller_message: 'Stripe blocked this payment as too risky.',
      type: 'blocked',
    };
  return {
    ...approved,
    network_status: 'declined_by_network',
    reason: decline.declineCode,
    seller_message: 'The bank declined without saying more.',
    type: 'issuer_declined',
  };
}
