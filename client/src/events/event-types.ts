import type { components } from '../schema.ts';
import type { Checkout, Customer, Invoice, Payment, Plan, Refund, Subscription } from '../types.ts';

type Schema = components['schemas']['Event'];

export type EventType = Schema['type'];
export type EventObjectType = Schema['objectType'];
/** What caused the change that an event shows. */
export type EventCause = Schema['cause'];

/** What a customer has used of a meter when the limit is reached. */
type ReachedLimit = {
  /** The key of the meter. */
  readonly meter: string;
  readonly used: number;
  readonly limit: number;
  readonly periodStart: string;
  readonly periodEnd: string;
};

/** The object that an event shows, by the kind of object. */
interface EventObjects {
  readonly customer: Customer;
  readonly plan: Plan;
  readonly payment: Payment;
  readonly refund: Refund;
  readonly subscription: Subscription;
  readonly invoice: Invoice;
  readonly checkout: Checkout;
  readonly meter: ReachedLimit;
}

/** An event of usage is about its meter. */
type KindOf<Type extends EventType> = Type extends 'usage.limit_reached'
  ? 'meter'
  : Type extends `${infer Kind extends EventObjectType}.${string}`
    ? Kind
    : never;

interface EventWith<Type extends EventType, Kind extends EventObjectType>
  extends Omit<Schema, 'type' | 'objectType' | 'data' | 'previous'> {
  readonly type: Type;
  readonly objectType: Kind;
  /** The object after the change, as its own endpoint shows it. */
  readonly data: EventObjects[Kind];
  /** The old values of the fields that changed. Empty on creation. */
  readonly previous: Partial<EventObjects[Kind]>;
}

/** The event of one type: `TillEventOf<'payment.succeeded'>` has a payment as its `data`. */
export type TillEventOf<Type extends EventType> = Type extends EventType
  ? EventWith<Type, KindOf<Type>>
  : never;

/** Any event. A check of `type` or `objectType` decides the type of `data`. */
export type TillEvent = TillEventOf<EventType>;

/** Which events to read. */
export interface EventFilters {
  /** Only events of these types. */
  readonly types?: readonly EventType[] | undefined;
  /** Only the events of one object. */
  readonly objectId?: string | undefined;
  /** Only the events of a customer, and of everything that belongs to it. */
  readonly customerId?: string | undefined;
}
