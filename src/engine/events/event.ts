import type { Cause } from '#core/platform/cause.ts';

/** The types of the events about one type of object, each with when it happens. */
export interface EventTypes<Type extends string = string> {
  readonly objectType: string;
  /** The operation that shows the objects as events do. Undefined if the events report no change of an object. */
  readonly shownBy?: string;
  /** `updated` is for changes that no other type describes. docs/reference/events.md is generated from these. */
  readonly meanings: Readonly<Record<Type, string>>;
}

/** The names that events use, for schemas. */
export interface EventNames {
  readonly types: readonly string[];
  readonly objectTypes: readonly string[];
}

export function namesOf(all: readonly EventTypes[]): EventNames {
  return {
    types: all.flatMap(({ meanings }) => Object.keys(meanings)),
    objectTypes: all.map(({ objectType }) => objectType),
  };
}

/** An object as the API shows it. */
export type EventData = Readonly<Record<string, unknown>>;

/** What an event says about a change. */
export interface DescribedEvent<Type extends string = string> {
  readonly type: Type;
  /** The old values of the fields that changed. Empty on creation. */
  readonly previous: EventData;
}

/** What `till.append_events` takes. PostgreSQL adds the position and the time. */
export interface NewEvent extends DescribedEvent {
  readonly objectType: string;
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
  readonly types?: ReadonlySet<string> | undefined;
  readonly objectId?: string | undefined;
  readonly customerId?: string | undefined;
}
