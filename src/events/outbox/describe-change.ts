import { isSameValue } from '../../model/transition.ts';
import type { Cause } from '../../platform/cause.ts';
import type { DescribedEvent, EventData } from '../event.ts';
import type { ObjectKind, Shown } from './object-kind.ts';

/** What the newest event of an object shows, as `till.event_objects` records it. */
export interface RecordedObject {
  readonly id: string;
  /** JSON. */
  readonly data: string;
  readonly changesAt: Date | null;
}

/** An object that may have changed. */
export interface Candidate {
  readonly kind: ObjectKind;
  readonly shown: Shown;
  /** Undefined if it has no event yet: it is new, or the API did not show it before. */
  readonly recorded: RecordedObject | undefined;
}

/**
 * `event`: write it and the event that follows it, if any. `record`: only record what the API shows now. `none`: do
 * nothing.
 */
export type ChangeDescription =
  | { readonly outcome: 'none' }
  | { readonly outcome: 'record' }
  | ({ readonly outcome: 'event'; readonly followedBy?: DescribedEvent } & DescribedEvent);

const none: ChangeDescription = { outcome: 'none' };
const record: ChangeDescription = { outcome: 'record' };

/** Compares what the API shows of an object now with what its newest event shows. */
export function describeChange({ kind, shown, recorded }: Candidate, data: string): ChangeDescription {
  if (recorded === undefined) return shown.isVisible ? describeCreation(kind, shown) : none;
  const isSameTime = recorded.changesAt?.getTime() === shown.changesAt?.getTime();
  if (recorded.data === data) return isSameTime ? none : record;
  const change = compare(kind, JSON.parse(recorded.data), shown);
  return change.outcome === 'record' && isSameTime ? none : change;
}

function describeCreation(kind: ObjectKind, shown: Shown): ChangeDescription {
  const followedBy = kind.afterCreation(shown);
  return { outcome: 'event', type: `${kind.type}.created`, previous: {}, ...(followedBy && { followedBy }) };
}

function compare(kind: ObjectKind, before: EventData, shown: Shown): ChangeDescription {
  const changed = changedFields(before, shown.view);
  if (changed === undefined) return record;
  const previous = shown.erased.length === 0 ? changed : without(changed, shown.erased);
  return { outcome: 'event', type: kind.typeOf(before, shown), previous };
}

function without(view: EventData, fields: readonly string[]): EventData {
  return Object.fromEntries(Object.entries(view).filter(([field]) => !fields.includes(field)));
}

/** An event as `till.append_events` takes it. `data` is JSON already. */
export function eventText(
  { kind, shown }: Candidate,
  { type, previous }: DescribedEvent,
  data: string,
  cause: Cause,
): string {
  const { customerId, changesAt } = shown;
  const rest = JSON.stringify({ type, customerId, previous, cause, ...recordOf(kind, shown, changesAt) });
  return `${rest.slice(0, -1)},"data":${data}}`;
}

/** What is recorded about an object, as the store takes it. */
export function recordText({ kind, shown }: Candidate, data: string): string {
  const rest = JSON.stringify(recordOf(kind, shown, shown.changesAt));
  return `${rest.slice(0, -1)},"data":${data}}`;
}

function recordOf(kind: ObjectKind, { id }: Shown, changesAt: Date | null): object {
  return { objectType: kind.type, objectId: id, changesAt };
}

/**
 * The old values of the fields that differ. A field that is new in the API has no old value. Undefined if nothing
 * differs.
 */
function changedFields(before: EventData, after: EventData): EventData | undefined {
  const changed: Record<string, unknown> = {};
  let isSame = true;
  for (const field of Object.keys(before)) {
    if (isSameValue(before[field], after[field])) continue;
    changed[field] = before[field];
    isSame = false;
  }
  const isLonger = Object.keys(after).some((field) => !Object.hasOwn(before, field));
  return isSame && !isLonger ? undefined : changed;
}
