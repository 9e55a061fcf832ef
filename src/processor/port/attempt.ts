/**
 * The result of a change. `wrong_state`: the processor's object is in another state than the mirror, and nothing was
 * done; read it, correct the mirror, then respond. `missing`: the processor says that there is no such object. That
 * alone proves nothing, because a key of another account gets the same response: read the object.
 */
export type Attempt<T> = Done<T> | Refused;

interface Done<T> {
  readonly outcome: 'done';
  readonly value: T;
  /** The processor repeats its response to an earlier call with the same key, which may be out of date. */
  readonly isReplayed?: true;
}

/** The processor's refusal, in its own words. */
export interface Refused {
  readonly outcome: 'wrong_state' | 'missing';
  readonly processorCode: string | null;
  readonly message: string;
}
