import type { Charge, ChargeFacts } from '#core/model/charge.ts';
import type { AsOf } from '#core/model/facts.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';
import { describeMethod } from './map-payment-method.ts';

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
export function latestChargeOf(intent: WireObject, asOf: AsOf): Charge | null | undefined {
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
