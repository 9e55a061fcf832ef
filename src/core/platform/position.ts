import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * A position of the write-ahead log: a server that has replayed it has everything that was committed before. It counts
 * only within its history, see `till.history()`: after a failover the same number can mean other commits.
 */
export interface Position {
  readonly history: number;
  readonly lsn: bigint;
}

/** `till.history()` has at most 53 bits, and a position of PostgreSQL 64. */
const historyDigits = 14;
const lsnDigits = 16;
const positionPattern = new RegExp(`^([0-9a-f]{${historyDigits}})-([0-9a-f]{${lsnDigits}})$`);

/** The width is fixed, so that of two positions of one history the later one is also the greater text. */
export function formatPosition({ history, lsn }: Position): string {
  return `${history.toString(16).padStart(historyDigits, '0')}-${lsn.toString(16).padStart(lsnDigits, '0')}`;
}

/** Undefined for any other text, such as the position of a later release. */
export function parsePosition(text: string): Position | undefined {
  const [, history, lsn] = positionPattern.exec(text) ?? [];
  if (history === undefined || lsn === undefined) return undefined;
  return { history: Number.parseInt(history, 16), lsn: BigInt(`0x${lsn}`) };
}

/** Whether a server that is at `reached` has everything up to `position`. */
export function includes(reached: Position, position: Position): boolean {
  return reached.history === position.history && reached.lsn >= position.lsn;
}

/**
 * A position that is not before either of the two, for reading. Undefined if they belong to different histories,
 * because their order is not known.
 */
export function laterOf(one: Position, other: Position): Position | undefined {
  if (one.history !== other.history) return undefined;
  return one.lsn >= other.lsn ? one : other;
}

/** What a request reads, if a replica may serve it. */
export interface Reading {
  /** What the caller has seen. Undefined: the caller sent no position, so only the primary may serve it. */
  position: Position | undefined;
  /** Where the replica was when it served the last read. Undefined if it served no read. */
  replicaAt: Position | undefined;
  hasReadPrimary: boolean;
  /** A position that includes what the response shows, once it is known. */
  shownAt: Position | undefined;
}

export function newReading(position: Position | undefined): Reading {
  return { position, replicaAt: undefined, hasReadPrimary: false, shownAt: undefined };
}

const readings = new AsyncLocalStorage<Reading>();

/** Everything that `work` reads through `Database.read` is part of this reading. */
export function runReading<Result>(reading: Reading, work: () => Result): Result {
  return readings.run(reading, work);
}

/** Undefined outside of requests that a replica may serve. */
export function currentReading(): Reading | undefined {
  return readings.getStore();
}
