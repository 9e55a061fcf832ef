/**
 * When a mirror takes a status of the processor in. `always`: the status is final, so that nothing can come after it
 * and its time does not matter. `if newer`: by the processor's own time. `never`: what stands is final.
 */
export type Rule = 'always' | 'if newer' | 'never';

/** From what stands (rows) to what arrives (columns). */
export type TransitionTable<Status extends string> = Readonly<Record<Status, Readonly<Record<Status, Rule>>>>;

/**
 * `take`: the row becomes what has arrived. `keep`: it stays. `ask`: two different values carry the same second, so
 * that only the processor itself can tell which came last.
 */
export type Verdict = 'take' | 'keep' | 'ask';

/** Where facts come from. An answer to a call is the processor's present state; an event is how things were then. */
export type Source = 'answer' | 'event';

export interface Arrival {
  readonly rule: Rule;
  readonly source: Source;
  readonly isSame: boolean;
  readonly rowAsOf: Date;
  readonly factsAsOf: Date;
}

/** The one order of events: whatever sequence they arrive in, the row ends as the processor's object is. */
export function judge({ rule, source, isSame, rowAsOf, factsAsOf }: Arrival): Verdict {
  if (rule === 'never') return 'keep';
  if (rule === 'always' || source === 'answer') return 'take';
  if (factsAsOf > rowAsOf) return 'take';
  if (factsAsOf < rowAsOf || isSame) return 'keep';
  return 'ask';
}

/** The time that a row stands for after it took facts in: it never goes back. */
export function laterOf(a: Date, b: Date): Date {
  return a > b ? a : b;
}
