import type { Charge, ChargeFacts } from '#core/model/charge.ts';
import type { AsOf } from '#core/model/facts.ts';
import type { PaymentFacts, PaymentFailure } from '#core/model/payment.ts';
import { clientSecretOf } from '../wire/responses.ts';
import { checkoutIdOf, metadataOf } from '../wire/wire-metadata.ts';
import { ifReadable, redactText, WireObject } from '../wire/wire-object.ts';
import { describeMethod } from './map-payment-method.ts';

/** Maps the processor's payment intent statuses to Till's. */
const statuses = {
  requires_payment_method: 'requires_payment_method',
  requires_confirmation: 'requires_confirmation',
  requires_action: 'requires_action',
  // The spec has no status for an authorised payment that is not captured yet. This one fits, because an action is
  // still needed.
  requires_capture: 'requires_action',
  processing: 'processing',
  succeeded: 'succeeded',
  canceled: 'canceled',
} as const satisfies Record<string, PaymentFacts['status']>;

/** A payment intent in a response, which also contains what stored events lack. */
export function mapPaymentResponse(value: unknown, asOf: AsOf): PaymentFacts {
  const intent = WireObject.parse(value, 'payment_intent');
  const charge = latestChargeOf(intent, asOf);
  return {
    ...mapPayment(value, asOf),
    description: intent.optionalText('description'),
    ...(charge === undefined ? {} : { charge }),
    isDisputed: intent.optional('object', 'latest_charge')?.optional('flag', 'disputed') ?? false,
  };
}

/** A payment intent in an event. */
export function mapPayment(value: unknown, asOf: AsOf): PaymentFacts {
  const intent = WireObject.parse(value, 'payment_intent').expectKind('payment_intent');
  const status = intent.translate('status', statuses);
  return {
    processorPaymentIntentId: intent.text('id'),
    localId: intent.localId(),
    processorCustomerId: intent.referenceOrNull('customer'),
    amount: intent.amount('amount'),
    amountReceived: amountReceivedOf(intent, status),
    amountCapturable: amountCapturableOf(intent),
    currency: intent.currency('currency'),
    status,
    failure: status === 'succeeded' ? null : failureOf(intent),
    // Since 2025-03-31 a payment intent does not name its invoice.
    ...(intent.has('invoice') ? { processorInvoiceId: intent.referenceOrNull('invoice') } : {}),
    checkoutId: checkoutIdOf(intent),
    metadata: metadataOf(intent),
    createdAt: intent.createdAt(asOf.earliest),
    asOf,
  };
}

/** Before a payment succeeds nothing is received, so the amount is required only after that. */
function amountReceivedOf(intent: WireObject, status: PaymentFacts['status']): number {
  if (status === 'succeeded') return intent.amount('amount_received');
  return intent.optional('amount', 'amount_received') ?? 0;
}

/**
 * Only an authorised payment has an amount to capture. If that amount cannot be read, the status must still be used.
 */
function amountCapturableOf(intent: WireObject): number {
  if (intent.text('status') !== 'requires_capture') return 0;
  return intent.optional('amount', 'amount_capturable') ?? 0;
}

/** Enough for the processor's longest messages. */
const messageLengthMax = 500;

/** Why the last attempt failed. The processor clears it when the next attempt begins. */
export function failureOf(intent: WireObject): PaymentFailure | null {
  const error = intent.optional('object', 'last_payment_error');
  if (error === null) return null;
  return {
    code: error.optionalText('code'),
    declineCode: error.optionalText('decline_code'),
    message: redactText(error.optionalText('message') ?? '').slice(0, messageLengthMax) || null,
  };
}

export function clientSecretOfPayment(value: unknown): string | null {
  return clientSecretOf(WireObject.parse(value, 'payment_intent'));
}

/** The customer of the payment intent that an object belongs to. Absent unless the payment intent is expanded. */
export function customerOfPayment(object: WireObject): { readonly processorCustomerId?: string | null } {
  const payment = object.optional('object', 'payment_intent');
  return payment?.has('customer') ? { processorCustomerId: payment.referenceOrNull('customer') } : {};
}

/** Null for a charge that does not belong to a payment intent. */
export function mapCharge(value: unknown, asOf: AsOf): ChargeFacts | null {
  const charge = WireObject.parse(value, 'charge').expectKind('charge');
  const processorPaymentIntentId = charge.referenceOrNull('payment_intent');
  if (processorPaymentIntentId === null) return null;
  return {
    ...chargeOf(charge, asOf),
    processorPaymentIntentId,
    // The processor copies the metadata of the payment intent to each of its charges.
    localId: charge.optionalLocalId(),
    isAuthorisationOver: charge.flag('captured'),
    asOf,
  };
}

/** The latest charge of a payment intent: null if it has none, undefined if the response only contains its id. */
function latestChargeOf(intent: WireObject, asOf: AsOf): Charge | null | undefined {
  const latest = intent.has('latest_charge') ? intent.raw('latest_charge') : undefined;
  if (latest === null) return null;
  if (latest === undefined || typeof latest === 'string') return undefined;
  return ifReadable(() => chargeOf(intent.object('latest_charge').expectKind('charge'), asOf)) ?? undefined;
}

function chargeOf(charge: WireObject, asOf: AsOf): Charge {
  const details = charge.optional('object', 'payment_method_details');
  const refunds = charge.optional('object', 'refunds')?.optional('array', 'data') ?? null;
  return {
    processorChargeId: charge.id(),
    createdAt: charge.createdAt(asOf.earliest),
    paymentMethod: details && ifReadable(() => describeMethod(charge.shortText('payment_method'), details)),
    captureBefore:
      details && (details.optional('object', 'card')?.optional('moment', 'capture_before') ?? null),
    ...(refunds === null ? {} : { hasRefunds: refunds.length > 0 }),
  };
}
