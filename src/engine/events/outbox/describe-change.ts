import { isSameValue } from '#core/model/transition.ts';
import type { DescribedEvent, EventData, NewEvent } from '../event.ts';
import type { ObjectKind, Shown } from './object-kind.ts';
import type { EventText } from './outbox-store.ts';

/**
 * The events of a change, given what the API showed of the object before and shows now. Usually there is one, or none
 * if nothing has changed in what the API shows.
 */
export function describeChange(
  kind: ObjectKind,
  before: Shown | undefined,
  after: Shown,
): readonly DescribedEvent[] {
  if (before?.isVisible !== true) return after.isVisible ? describeCreation(kind, after) : [];
  const changed = changedFields(before.view, after.view);
  if (changed === undefined) return [];
  const previous = after.erased.length === 0 ? changed : without(changed, after.erased);
  return [{ type: kind.typeOf(before, after), previous }];
}

function describeCreation(kind: ObjectKind, created: Shown): readonly DescribedEvent[] {
  const creation: DescribedEvent = { type: `${kind.type}.created`, previous: {} };
  const followedBy = kind.afterCreation(created);
  return followedBy === undefined ? [creation] : [creation, followedBy];
}

function without(view: EventData, fields: readonly string[]): EventData {
  return Object.fromEntries(Object.entries(view).filter(([field]) => !fields.includes(field)));
}

/** The old values of the fields that differ. Undefined if nothing differs. */
function changedFields(before: EventData, after: EventData): EventData | undefined {
  const names = Object.keys(after).filter((name) => !isSameValue(before[name], after[name]));
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, before[name]]));
}

/**
 * An event as `till.append_events` takes it. `data` is its JSON. Readers of events see the cause, and not its trace.
 */
export function eventText(
  { type, objectType, objectId, customerId, previous, cause, traceparent }: Omit<NewEvent, 'data'>,
  data: string,
): EventText {
  const shown = cause.traceparent === undefined ? cause : { ...cause, traceparent: undefined };
  return {
    ...{ type, objectType, objectId, customerId, data, traceparent: traceparent ?? null },
    ...{ previous: JSON.stringify(previous), cause: JSON.stringify(shown) },
  };
}
