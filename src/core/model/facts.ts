/** The name of a mirrored resource in metrics, logs and messages, such as `payment`. */
export type Resource = string;

/**
 * The state of an object at the processor, in Till's terms. Facts contain only what the mirrors store. They never
 * contain a client secret, so storing facts cannot store a secret.
 */
export interface Facts {
  /** When the processor created the object. The processor reports times in whole seconds. */
  readonly createdAt: Date;
  readonly asOf: AsOf;
}

/** Facts about an object that Till may have created. */
export interface OwnFacts extends Facts {
  /** Till's id, from the object's metadata. Null if Till did not create the object. */
  readonly localId: string | null;
}

/**
 * When facts were true, by the processor's clock, in whole seconds. An event has one time, so both ends are equal. A
 * response was true at some time between its request and its arrival.
 */
export interface AsOf {
  readonly earliest: Date;
  readonly latest: Date;
}

export function asOfEvent(createdAt: Date): AsOf {
  return { earliest: createdAt, latest: createdAt };
}

/** The time of a row after it took facts. The time of a row never goes back. */
export function laterOf(a: AsOf, b: AsOf): AsOf {
  return {
    earliest: a.earliest > b.earliest ? a.earliest : b.earliest,
    latest: a.latest > b.latest ? a.latest : b.latest,
  };
}

/** The time of the facts that a row last took, as columns of the row. */
interface RowTime {
  readonly processorAsOf: Date;
  readonly processorAsOfLatest: Date;
}

export function asOfRow({ processorAsOf, processorAsOfLatest }: RowTime): AsOf {
  return { earliest: processorAsOf, latest: processorAsOfLatest };
}

export function rowTime({ earliest, latest }: AsOf): RowTime {
  return { processorAsOf: earliest, processorAsOfLatest: latest };
}

/** What the rows of all mirrors with one time have in common. */
export interface DatedRow extends RowTime {
  readonly id: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Increases with every change of the row. */
  readonly revision: number;
}
