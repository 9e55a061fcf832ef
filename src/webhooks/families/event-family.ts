import type { Applied } from '../../mirrors/fold.ts';
import type { Transaction } from '../../platform/postgres.ts';
import type { EventFacts } from '../../processor/event-facts.ts';

/** Events about one kind of object: how to apply a batch of them, and how to refresh a row where that is not enough. */
export interface EventFamily {
  /** The processor's ids of the objects that the event is about; undefined if it is none of this family's. */
  readonly keysOf: (event: EventFacts) => readonly string[] | undefined;
  /**
   * Locks the rows that this family and later ones share, for all events of the batch at once: each family locks in the
   * order of the ids, but two after each other do not.
   */
  readonly lock?: (tx: Transaction, batch: readonly EventFacts[]) => Promise<void>;
  readonly apply: (tx: Transaction, events: readonly EventFacts[]) => Promise<FamilyApplied>;
  /** Reads the processor's present state of one object into ours. No transaction is open meanwhile. */
  readonly refresh: (key: string) => Promise<Applied>;
}

export interface FamilyApplied extends Applied {
  /** How many payments have succeeded by this. */
  readonly succeeded: number;
}

interface FamilyParts<Facts> {
  readonly pick: (event: EventFacts) => readonly Facts[] | undefined;
  readonly keyOf: (facts: Facts) => string;
  readonly lock?: EventFamily['lock'];
  readonly apply: (
    tx: Transaction,
    facts: readonly Facts[],
  ) => Promise<Applied & { readonly succeeded?: number }>;
  readonly refresh: (key: string) => Promise<Applied>;
}

export function defineFamily<Facts>(parts: FamilyParts<Facts>): EventFamily {
  const { pick, keyOf, lock, apply, refresh } = parts;
  return {
    ...(lock === undefined ? {} : { lock }),
    keysOf: (event) => pick(event)?.map(keyOf),
    apply: async (tx, events) => ({
      succeeded: 0,
      ...(await apply(
        tx,
        events.flatMap((event) => pick(event) ?? []),
      )),
    }),
    refresh,
  };
}
