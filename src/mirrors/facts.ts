/**
 * What the processor says about one of its objects, in Till's words. Facts hold what the mirrors store and nothing else.
 * They never hold a client secret, so storing facts cannot store a secret.
 */
export interface Facts {
  /** When the processor created the object. Processor times have whole seconds. */
  readonly createdAt: Date;
  readonly asOf: AsOf;
}

/** Facts about an object that Till may have created. */
export interface OwnFacts extends Facts {
  /** Till's id, from the object's metadata; null if Till did not create the object. */
  readonly localId: string | null;
}

/**
 * When facts were true, on the processor's clock, in whole seconds. An event names its second, so both ends are equal. A
 * response was true at some moment between its request and its arrival; nothing narrower is certain.
 */
export interface AsOf {
  readonly earliest: Date;
  readonly latest: Date;
}

export function asOfEvent(createdAt: Date): AsOf {
  return { earliest: createdAt, latest: createdAt };
}

/** The time of a row that took facts in: it never goes back. */
export function laterOf(a: AsOf, b: AsOf): AsOf {
  return {
    earliest: a.earliest > b.earliest ? a.earliest : b.earliest,
    latest: a.latest > b.latest ? a.latest : b.latest,
  };
}

/** The time of what a row last took in, as rows hold it. */
export interface RowTime {
  readonly processorAsOf: Date;
  readonly processorAsOfLatest: Date;
}

export function asOfRow({ processorAsOf, processorAsOfLatest }: RowTime): AsOf {
  return { earliest: processorAsOf, latest: processorAsOfLatest };
}

export function rowTime({ earliest, latest }: AsOf): RowTime {
  return { processorAsOf: earliest, processorAsOfLatest: latest };
}
