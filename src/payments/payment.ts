/** Every status of a payment, in the order in which a payment usually passes them. */
export const paymentStatuses = [
  'requires_payment_method',
  'requires_confirmation',
  'requires_action',
  'processing',
  'succeeded',
  'canceled',
  'refunded',
] as const;

export type PaymentStatus = (typeof paymentStatuses)[number];
