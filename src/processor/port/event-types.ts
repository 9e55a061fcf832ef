/** The processor's event types that change a mirror. Any other is stored, acknowledged and counted as ignored. */
export const eventTypes = [
  'payment_intent.created',
  'payment_intent.processing',
  'payment_intent.requires_action',
  'payment_intent.amount_capturable_updated',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'payment_intent.canceled',
  'charge.succeeded',
  'charge.failed',
  'charge.captured',
  'charge.expired',
  'charge.refunded',
  'charge.refund.updated',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'customer.created',
  'customer.updated',
  'customer.deleted',
  'product.updated',
  'product.deleted',
  'price.created',
  'price.updated',
  'price.deleted',
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'customer.subscription.paused',
  'customer.subscription.resumed',
  'customer.subscription.pending_update_applied',
  'customer.subscription.pending_update_expired',
  'customer.subscription.trial_will_end',
  'subscription_schedule.aborted',
  'subscription_schedule.canceled',
  'subscription_schedule.completed',
  'subscription_schedule.created',
  'subscription_schedule.expiring',
  'subscription_schedule.released',
  'subscription_schedule.updated',
  'customer.discount.created',
  'customer.discount.updated',
  'customer.discount.deleted',
  'payment_method.detached',
  'invoice.created',
  'invoice.finalized',
  'invoice.updated',
  'invoice.paid',
  'invoice.payment_succeeded',
  'invoice.payment_failed',
  'invoice.payment_action_required',
  'invoice.voided',
  'invoice.marked_uncollectible',
  'invoice.deleted',
  'invoice_payment.paid',
] as const;

export type EventType = (typeof eventTypes)[number];

const known: ReadonlySet<string> = new Set(eventTypes);

export function isKnownEventType(type: string): type is EventType {
  return known.has(type);
}

/** For metrics: unknown types share one label, so that a sender cannot create an unlimited number of series. */
export function eventTypeLabel(type: string): string {
  return known.has(type) ? type : 'other';
}
