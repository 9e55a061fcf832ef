import type { Cause } from '#core/platform/cause.ts';

/** The kinds of objects whose changes are events. */
export const eventObjectTypes = [
  'customer',
  'plan',
  'payment',
  'refund',
  'subscription',
  'invoice',
  'checkout',
  'meter',
] as const;

export type EventObjectType = (typeof eventObjectTypes)[number];

/** The kind of each object decides the type of an event. `updated` is for changes that no other type describes. */
export const eventTypes = [
  'customer.created',
  'customer.updated',
  'customer.deleted',
  'plan.created',
  'plan.updated',
  'plan.archived',
  'payment.created',
  'payment.updated',
  'payment.succeeded',
  'payment.failed',
  'payment.canceled',
  'payment.refunded',
  'payment.disputed',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'subscription.created',
  'subscription.updated',
  'subscription.entitled',
  'subscription.unentitled',
  'subscription.canceled',
  'invoice.created',
  'invoice.updated',
  'invoice.paid',
  'invoice.payment_failed',
  'checkout.created',
  'checkout.updated',
  'checkout.completed',
  'checkout.expired',
  'usage.limit_reached',
] as const;

export type EventType = (typeof eventTypes)[number];

/** An object as the API shows it. */
export type EventData = Readonly<Record<string, unknown>>;

/** What an event says about a change. */
export interface DescribedEvent {
  readonly type: EventType;
  /** The old values of the fields that changed. Empty on creation. */
  readonly previous: EventData;
}

/** What `till.append_events` takes. PostgreSQL adds the position and the time. */
export interface NewEvent extends DescribedEvent {
  readonly objectType: EventObjectType;
  readonly objectId: string;
  /** The customer that the object belongs to, or whose usage it counts. For a customer, its own id. Null for a plan. */
  readonly customerId: string | null;
  /** The object after the change. */
  readonly data: EventData;
  readonly cause: Cause;
  /** The span that wrote the event, if it is traced. */
  readonly traceparent?: string | undefined;
}

/** Which events a reader wants. An undefined field selects all. */
export interface EventSelection {
  readonly types?: ReadonlySet<EventType> | undefined;
  readonly objectId?: string | undefined;
  readonly customerId?: string | undefined;
}

const knownTypes: ReadonlySet<string> = new Set(eventTypes);

export function isEventType(text: string): text is EventType {
  return knownTypes.has(text);
}
