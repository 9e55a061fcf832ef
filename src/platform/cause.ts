import { AsyncLocalStorage } from 'node:async_hooks';

/** Why a row changes: which request, webhook or background work is responsible. Null where it does not apply. */
export interface Cause {
  readonly kind: 'api' | 'webhook' | 'recovery' | 'resync' | 'import' | 'sweeper';
  /** The name of the API key of the request. */
  readonly keyName: string | null;
  readonly requestId: string | null;
  readonly processorEventId: string | null;
}

/** Finds the cause of one change among several in the same transaction, by the ids in the changed row. */
type CauseOf = (ids: readonly string[]) => Cause | undefined;

/** Work, and what it needs to know about the request that it is for. */
interface Work {
  readonly cause: Cause | CauseOf | undefined;
  readonly confirm?: Confirm | undefined;
}

/** Fails if the API key of a request is no longer valid. A promise only if the database must be asked. */
type Confirm = () => Promise<void> | undefined;

/** Follows the work through every await, so that no function in between needs to pass it on. */
const works = new AsyncLocalStorage<Work>();

/** Everything that `work` starts has this cause, even after `work` has returned. Undefined: no cause. */
export function runWithCause<Result>(
  cause: Cause | undefined,
  work: () => Result,
  confirm?: Confirm,
): Result {
  return works.run({ cause, confirm }, work);
}

/** The same for work that serves several requests or events at once. */
export function runWithCauses<Result>(causeOf: CauseOf, work: () => Result): Result {
  return works.run({ cause: causeOf }, work);
}

/** The same for work of this kind that no request and no event caused. */
export function runAs<Result>(kind: Cause['kind'], work: () => Result): Result {
  return works.run({ cause: causeOfKind(kind) }, work);
}

export function causeOfKind(kind: Cause['kind']): Cause {
  return { kind, keyName: null, requestId: null, processorEventId: null };
}

/** The cause of the work that calls this. Undefined for work that has none, or that serves several requests at once. */
export function currentCause(): Cause | undefined {
  const current = works.getStore()?.cause;
  return typeof current === 'function' ? undefined : current;
}

/** The cause of the change of a row that contains these ids. */
export function currentCauseOf(ids: readonly string[]): Cause | undefined {
  const current = works.getStore()?.cause;
  return typeof current === 'function' ? current(ids) : current;
}

/**
 * Call it after a wait, before something is started for the request. Fails if the API key of the request has been
 * revoked or has expired since. Work that no request caused needs no API key.
 */
export function confirmCaller(): Promise<void> | undefined {
  return works.getStore()?.confirm?.();
}
