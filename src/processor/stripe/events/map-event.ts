import { type AsOf, asOfEvent } from '../../../mirrors/facts.ts';
import { type EventFacts, UnmappableError } from '../../event-facts.ts';
import type { EventType } from '../../event-types.ts';
import type { ProcessorEvent } from '../../processor.ts';
import { mapCustomer } from '../objects/map-customer.ts';
import { mapInvoice } from '../objects/map-invoice.ts';
import { mapPayment } from '../objects/map-payment.ts';
import { mapPrice, mapProduct } from '../objects/map-plan.ts';
import { mapRefund } from '../objects/map-refund.ts';
import { mapSubscription } from '../objects/map-subscription.ts';
import { WireObject } from '../wire/wire-object.ts';
import { erasedMark, redactPayload } from './redact-payload.ts';

/** What a stored event says. Its object is as it was at the event's time, in the shape of the endpoint's version. */
export function readEvent(payload: string): EventFacts {
  const event = WireObject.parse(parseJson(payload), 'event').expectKind('event');
  const type = event.text('type');
  const object = event.object('data').object('object');
  if (!isKnown(type)) return { resource: 'none', reason: 'unknown_type' };
  if (event.has(erasedMark)) return { resource: 'none', reason: 'erased' };
  if (!object.has('id')) return { resource: 'none', reason: 'object_without_id' };
  return readers[type](event.object('data').raw('object'), asOfEvent(event.moment('created')));
}

/** The part of an event that the inbox needs, whatever its type. */
export function mapEventEnvelope(value: unknown): ProcessorEvent {
  const event = WireObject.parse(value, 'event').expectKind('event');
  const object = event.object('data').object('object');
  return {
    id: event.id(),
    type: event.shortText('type'),
    createdAt: event.moment('created'),
    livemode: event.flag('livemode'),
    apiVersion: event.optionalText('api_version'),
    objectId: object.has('id') ? object.id() : null,
    // Written anew even if nothing was redacted: of a key that comes twice, the text as it came would keep both values.
    ...redactPayload(value),
  };
}

type Reader = (object: unknown, asOf: AsOf) => EventFacts;

const readCustomer: Reader = (object, asOf) => ({
  resource: 'customer',
  customer: mapCustomer(object, asOf),
});
const readPrice: Reader = (object, asOf) => ({ resource: 'price', price: mapPrice(object, asOf) });
const readProduct: Reader = (object, asOf) => ({ resource: 'product', product: mapProduct(object, asOf) });
const readPayment: Reader = (object, asOf) => ({ resource: 'payment', payment: mapPayment(object, asOf) });
const readRefund: Reader = (object, asOf) => ({ resource: 'refund', refund: mapRefund(object, asOf) });
const readInvoice: Reader = (object, asOf) => ({ resource: 'invoice', invoice: mapInvoice(object, asOf) });
const readSubscription: Reader = (object, asOf) => ({
  resource: 'subscription',
  subscription: mapSubscription(object, asOf),
});

// What is deleted is shown as it last was, with nothing in the object to say so: only the event's type does. Of a person
// nothing is taken in by that.
const readDeletedCustomer: Reader = (object, asOf) => ({
  resource: 'customer',
  customer: { ...mapCustomer(object, asOf), email: null, name: null, phone: null, deleted: true },
});
const readDeletedProduct: Reader = (object, asOf) => ({
  resource: 'product',
  product: { ...mapProduct(object, asOf), active: false, deleted: true },
});
const readDeletedPrice: Reader = (object, asOf) => ({
  resource: 'price',
  price: { ...mapPrice(object, asOf), active: false, deleted: true },
});
const readDeletedInvoice: Reader = (object, asOf) => ({
  resource: 'invoice',
  invoice: { ...mapInvoice(object, asOf), status: 'void' },
});

const readCharge: Reader = (object, asOf) => {
  const charge = WireObject.parse(object, 'charge').expectKind('charge');
  return {
    resource: 'charge',
    processorPaymentIntentId: charge.referenceOrNull('payment_intent'),
    refunds: refundsOf(charge, asOf),
  };
};

/** Only the older shape has the refunds with it, and of many only the first ten. */
function refundsOf(charge: WireObject, asOf: AsOf): Extract<EventFacts, { resource: 'charge' }>['refunds'] {
  if (!charge.has('refunds')) return 'unread';
  const refunds = charge.objectOrNull('refunds');
  if (refunds === null || refunds.flag('has_more')) return 'unread';
  return refunds.array('data').map((refund) => mapRefund(refund, asOf));
}

const readers: Readonly<Record<EventType, Reader>> = {
  'payment_intent.created': readPayment,
  'payment_intent.processing': readPayment,
  'payment_intent.requires_action': readPayment,
  'payment_intent.amount_capturable_updated': readPayment,
  'payment_intent.succeeded': readPayment,
  'payment_intent.payment_failed': readPayment,
  'payment_intent.canceled': readPayment,
  'charge.refunded': readCharge,
  'charge.refund.updated': readRefund,
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
  'invoice.created': readInvoice,
  'invoice.finalized': readInvoice,
  'invoice.updated': readInvoice,
  'invoice.paid': readInvoice,
  'invoice.payment_succeeded': readInvoice,
  'invoice.payment_failed': readInvoice,
  'invoice.payment_action_required': readInvoice,
  'invoice.voided': readInvoice,
  'invoice.marked_uncollectible': readInvoice,
  'invoice.deleted': readDeletedInvoice,
};

function isKnown(type: string): type is EventType {
  return Object.hasOwn(readers, type);
}

function parseJson(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    throw new UnmappableError('the payload is not JSON');
  }
}
