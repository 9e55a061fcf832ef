import type { Facts, Origin, OwnFacts, Taken } from './facts.ts';
import type { PaymentMethod } from './payment-method.ts';

/** The latest charge of a payment, as columns of its row. Null before the first attempt to pay. */
export interface ChargeValues {
  readonly processorChargeId: string | null;
  /** When the processor created the charge. It decides which charge is the latest. */
  readonly chargedAt: Date | null;
  /** All that Till stores about a card. */
  readonly paymentMethod: PaymentMethod | null;
  /** When an authorisation expires. Null if the charge was captured at once. */
  readonly captureBefore: Date | null;
}

export const noCharge: ChargeValues = {
  processorChargeId: null,
  chargedAt: null,
  paymentMethod: null,
  captureBefore: null,
};

/** One attempt to pay, as the processor describes it. */
export interface Charge {
  readonly processorChargeId: string;
  readonly createdAt: Date;
  readonly paymentMethod: PaymentMethod | null;
  readonly captureBefore: Date | null;
  /** Undefined in events and lists. */
  readonly hasRefunds?: boolean;
}

/** An event about a charge. */
export interface ChargeFacts extends Charge, OwnFacts, Facts {
  readonly processorPaymentIntentId: string;
  /** The authorisation was captured or has expired. */
  readonly isAuthorisationOver: boolean;
}

export function chargeValues({
  processorChargeId,
  createdAt,
  paymentMethod,
  captureBefore,
}: Charge): ChargeValues {
  return { processorChargeId, chargedAt: createdAt, paymentMethod, captureBefore };
}

interface ChargedRow extends ChargeValues {
  readonly updatedAt: Date;
}

/**
 * Decides whether the charge is the latest one of the payment. The stored values of a charge never change, so its
 * creation time is enough to order charges. Two charges of the same second need a refresh.
 */
export function takeCharge<Row extends ChargedRow>(
  row: Row,
  charge: Charge,
  origin: Origin,
  now: Date,
): Taken<Row> {
  const kept = { verdict: 'keep', row } as const;
  const taken = { verdict: 'take', row: { ...row, ...chargeValues(charge), updatedAt: now } } as const;
  if (row.processorChargeId === charge.processorChargeId) {
    const isComplete = row.paymentMethod !== null || charge.paymentMethod === null;
    return isComplete ? kept : taken;
  }
  if (origin === 'current') return taken;
  const rowAt = row.chargedAt?.getTime() ?? Number.NEGATIVE_INFINITY;
  const chargeAt = charge.createdAt.getTime();
  if (chargeAt < rowAt) return kept;
  return chargeAt > rowAt ? taken : { verdict: 'refresh', row };
}

/**
 * Like `takeCharge`, for an event. If the authorisation has ended but the row still shows it, the row missed how it
 * ended and needs a refresh.
 */
export function takeChargeFacts<Row extends ChargedRow & { readonly amountCapturable: number }>(
  row: Row,
  facts: ChargeFacts,
  origin: Origin,
  now: Date,
): Taken<Row> {
  if (facts.isAuthorisationOver && row.amountCapturable > 0) return { verdict: 'refresh', row };
  return takeCharge(row, facts, origin, now);
}
