import type { ChargeFacts } from '#core/model/charge.ts';
import type { AsOf } from '#core/model/facts.ts';
import type { EventFacts } from '../../port/event-facts.ts';
import { mapCheckoutNotice } from '../objects/map-checkout.ts';
import { mapCustomer } from '../objects/map-customer.ts';
import { isLinked, mapDispute } from '../objects/map-dispute.ts';
import { mapInvoice, mapInvoicePayment, mayHaveTaken } from '../objects/map-invoice.ts';
import { mapCharge, mapPayment } from '../objects/map-payment.ts';
import { mapPrice, mapProduct } from '../objects/map-plan.ts';
import { mapRefund } from '../objects/map-refund.ts';
import { mapSubscription } from '../objects/map-subscription.ts';
import { WireObject } from '../wire/wire-object.ts';

/**
 * An erased event about a customer has no facts. An erased event about a payment or
 * subscription has all facts except its metadata and the reason of its cancellation.
 */
type EventReader = (object: unknown, asOf: AsOf, isErased: boolean) => EventFacts;

const readCustomer: EventReader = (object, asOf, isErased) =>
  isErased
    ? { subject: 'none', reason: 'erased' }
    : { subject: 'customer', facts: [mapCustomer(object, asOf)] };
const readProduct: EventReader = (object, asOf) => ({
  subject: 'product',
  facts: [mapProduct(object, asOf)],
});
const readPrice: EventReader = (object, asOf) => ({ subject: 'price', facts: [mapPrice(object, asOf)] });
const readPayment: EventReader = (object, asOf, isErased) => {
  const facts = mapPayment(object, asOf);
  return { subject: 'payment', facts: [isErased ? { ...facts, metadata: null } : facts] };
};
const readCharge: EventReader = (object, asOf) => chargeEvent(mapCharge(object, asOf));
const readRefund: EventReader = (object, asOf) => ({ subject: 'refund', facts: [mapRefund(object, asOf)] });
const readInvoice: EventReader = (object, asOf) => ({
  subject: 'invoice',
  facts: [mapInvoice(object, asOf)],
});
/** If the subscription has ended, another invoice must bill the customer's items and use the discount. */
const readVoidedInvoice: EventReader = (object, asOf) => {
  const facts = mapInvoice(object, asOf);
  return { subject: 'invoice', facts: [mayHaveTaken(object) ? { ...facts, mayLose: true } : facts] };
};
/** An invoice that was paid in another way has no payment at the processor. */
const readInvoicePayment: EventReader = (object) => {
  const { processorInvoiceId, processorPaymentIntentId } = mapInvoicePayment(object);
  const isPayment = processorPaymentIntentId !== null;
  return {
    subject: 'invoicePayment',
    facts: isPayment ? [{ processorInvoiceId, processorPaymentIntentId }] : [],
  };
};
const readSubscription: EventReader = (object, asOf, isErased) => {
  const facts = mapSubscription(object, asOf);
  if (!isErased) return { subject: 'subscription', facts: [facts] };
  const { cancellationReason: _, ...kept } = facts;
  return { subject: 'subscription', facts: [{ ...kept, metadata: null }] };
};

const readCheckout: EventReader = (object) => ({ subject: 'checkout', facts: [mapCheckoutNotice(object)] });

/** The processor has voided the invoice of a change. An event about the subscription itself comes with it. */
const readExpiredChange: EventReader = (object) => {
  const processorSubscriptionId = WireObject.parse(object, 'subscription').expectKind('subscription').id();
  return { subject: 'expiredChange', facts: [{ processorSubscriptionId }] };
};

/** The schedule or the discount of a subscription. A released schedule names its subscription in another field. */
const readChangedSubscription: EventReader = (object) => {
  const holder = WireObject.parse(object, 'object');
  const id = ['subscription', 'released_subscription']
    .map((field) => holder.optional('reference', field))
    .find((reference) => reference !== null);
  return { subject: 'changedSubscription', facts: id ? [{ processorSubscriptionId: id }] : [] };
};

/** The stored event names the customer to whom the payment method belonged. */
const readDetachedMethod: EventReader = (object) => {
  const method = WireObject.parse(object, 'payment_method').expectKind('payment_method');
  const processorCustomerId = method.optional('reference', 'customer');
  const paymentMethodId = method.id();
  return {
    subject: 'detachedMethod',
    facts: processorCustomerId === null ? [] : [{ processorCustomerId, paymentMethodId }],
  };
};

/** A customer without personal data. */
const noPersonalData = { email: null, name: null, phone: null, externalId: null, metadata: {} };

// An event shows a deleted object in its last state. Only the type of the event shows that it was deleted. No personal
// data is taken from such an event.
const readDeletedCustomer: EventReader = (object, asOf) => ({
  subject: 'customer',
  facts: [{ ...mapCustomer(object, asOf), ...noPersonalData, deleted: true }],
});
const readDeletedProduct: EventReader = (object, asOf) => ({
  subject: 'product',
  facts: [{ ...mapProduct(object, asOf), metadata: null, active: false, deleted: true }],
});
const readDeletedPrice: EventReader = (object, asOf) => ({
  subject: 'price',
  facts: [{ ...mapPrice(object, asOf), active: false, deleted: true }],
});
const readDeletedInvoice: EventReader = (object, asOf) => ({
  subject: 'invoice',
  facts: [{ ...mapInvoice(object, asOf), status: 'void', nextPaymentAttemptAt: null }],
});

/**
 * An expired charge looks like one that can still be captured. Only the type of the event shows that it has expired.
 */
const readExpiredCharge: EventReader = (object, asOf) => {
  const facts = mapCharge(object, asOf);
  return chargeEvent(facts && { ...facts, isAuthorisationOver: true });
};

/** A charge without a payment intent belongs to another application. */
function chargeEvent(facts: ChargeFacts | null): EventFacts {
  return { subject: 'charge', facts: facts === null ? [] : [facts] };
}

const readDispute: EventReader = (object, asOf) => {
  const facts = mapDispute(object, asOf);
  return isLinked(facts)
    ? { subject: 'dispute', facts: [facts] }
    : { subject: 'unlinkedDispute', facts: [facts] };
};

/** The older shape lists the refunds, if there are at most ten. Otherwise they must be fetched from the processor. */
const readRefundedCharge: EventReader = (object, asOf) => {
  const charge = WireObject.parse(object, 'charge').expectKind('charge');
  const refunds = charge.has('refunds') ? charge.objectOrNull('refunds') : null;
  if (refunds !== null && !refunds.flag('has_more'))
    return { subject: 'refund', facts: refunds.array('data').map((refund) => mapRefund(refund, asOf)) };
  const processorPaymentIntentId = charge.referenceOrNull('payment_intent');
  return {
    subject: 'refundedPayment',
    facts: processorPaymentIntentId === null ? [] : [{ processorPaymentIntentId }],
  };
};

/**
 * The processor's event types that change a mirror, and how each is read. Any other event is stored, acknowledged and
 * counted as ignored.
 */
const readers = {
  'payment_intent.created': readPayment,
  'payment_intent.processing': readPayment,
  'payment_intent.requires_action': readPayment,
  'payment_intent.amount_capturable_updated': readPayment,
  'payment_intent.succeeded': readPayment,
  'payment_intent.payment_failed': readPayment,
  'payment_intent.canceled': readPayment,
  'charge.succeeded': readCharge,
  'charge.failed': readCharge,
  'charge.captured': readCharge,
  'charge.expired': readExpiredCharge,
  'charge.refunded': readRefundedCharge,
  'charge.refund.updated': readRefund,
  'charge.dispute.created': readDispute,
  'charge.dispute.updated': readDispute,
  'charge.dispute.closed': readDispute,
  'charge.dispute.funds_withdrawn': readDispute,
  'charge.dispute.funds_reinstated': readDispute,
  'refund.created': readRefund,
  'refund.updated': readRefund,
  'refund.failed': readRefund,
  'customer.created': readCustomer,
  'customer.updated': readCustomer,
  'customer.deleted': readDeletedCustomer,
  'product.updated': readProduct,
  'product.deleted': readDeletedProduct,
  'price.created': readPrice,
  'price.updated': readPrice,
  'price.deleted': readDeletedPrice,
  'customer.subscription.created': readSubscription,
  'customer.subscription.updated': readSubscription,
  'customer.subscription.deleted': readSubscription,
  'customer.subscription.paused': readSubscription,
  'customer.subscription.resumed': readSubscription,
  'customer.subscription.pending_update_applied': readSubscription,
  'customer.subscription.pending_update_expired': readExpiredChange,
  'customer.subscription.trial_will_end': readSubscription,
  'subscription_schedule.aborted': readChangedSubscription,
  'subscription_schedule.canceled': readChangedSubscription,
  'subscription_schedule.completed': readChangedSubscription,
  'subscription_schedule.created': readChangedSubscription,
  'subscription_schedule.expiring': readChangedSubscription,
  'subscription_schedule.released': readChangedSubscription,
  'subscription_schedule.updated': readChangedSubscription,
  'customer.discount.created': readChangedSubscription,
  'customer.discount.updated': readChangedSubscription,
  'customer.discount.deleted': readChangedSubscription,
  'payment_method.detached': readDetachedMethod,
  'invoice.created': readInvoice,
  'invoice.finalized': readInvoice,
  'invoice.updated': readInvoice,
  'invoice.paid': readInvoice,
  'invoice.payment_succeeded': readInvoice,
  'invoice.payment_failed': readInvoice,
  'invoice.payment_action_required': readInvoice,
  'invoice.voided': readVoidedInvoice,
  'invoice.marked_uncollectible': readInvoice,
  'invoice.deleted': readDeletedInvoice,
  'invoice_payment.paid': readInvoicePayment,
  'checkout.session.completed': readCheckout,
  'checkout.session.expired': readCheckout,
  'checkout.session.async_payment_succeeded': readCheckout,
  'checkout.session.async_payment_failed': readCheckout,
} satisfies Record<string, EventReader>;

export const eventReaders: ReadonlyMap<string, EventReader> = new Map(Object.entries(readers));

// The keys of an object have the type of its fields.
export const eventTypes = Object.keys(readers) as readonly (keyof typeof readers)[];
