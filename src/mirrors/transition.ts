import type { AsOf } from './facts.ts';

/**
 * When a mirror takes a status of the processor in. `always`: the status is final, so that nothing can come after it
 * and its time does not matter. `if newer`: by the processor's own time. `never`: what stands is final.
 */
export type Rule = 'always' | 'if newer' | 'never';

/** From what stands (rows) to what arrives (columns). */
export type TransitionTable<Status extends string> = Readonly<Record<Status, Readonly<Record<Status, Rule>>>>;

/**
 * `take`: the row becomes what has arrived. `keep`: it stays. `refresh`: the times of two different values overlap, so
 * only the processor itself can tell which came last.
 */
export type Verdict = 'take' | 'keep' | 'refresh';

/**
 * What facts come from. `event`: how things were then. `present`: a refresh that began when the row was as it is now.
 * `moved`: a refresh too, but the row has changed since it began, so that either may be newer.
 */
export type Origin = 'event' | 'present' | 'moved';

export interface Arrival {
  readonly rule: Rule;
  readonly origin: Origin;
  readonly isSame: boolean;
  readonly rowAsOf: AsOf;
  readonly factsAsOf: AsOf;
}

/** The one order of events: whatever sequence they arrive in, the row ends as the processor's object is. */
export function judge({ rule, origin, isSame, rowAsOf, factsAsOf }: Arrival): Verdict {
  if (rule === 'never') return 'keep';
  if (rule === 'always' || origin === 'present') return 'take';
  const isNewer = factsAsOf.earliest > rowAsOf.latest;
  // The row's values stay, but it is known to be true at a later time: an event from before that is late.
  if (isSame) return isNewer ? 'take' : 'keep';
  if (origin === 'moved') return 'refresh';
  if (isNewer) return 'take';
  return factsAsOf.latest < rowAsOf.earliest ? 'keep' : 'refresh';
}
