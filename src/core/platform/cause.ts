import { AsyncLocalStorage } from 'node:async_hooks';
import type { Transaction } from './postgres.ts';

/** Why a row changes: which request, webhook or background work is responsible. Null where it does not apply. */
export interface Cause {
  readonly kind: 'api' | 'webhook' | 'recovery' | 'resync' | 'import' | 'sweeper';
  /** The name of the API key of the request. */
  readonly keyName: string | null;
  /** The e-mail address of the person who sent the request through the console. */
  readonly person: string | null;
  readonly requestId: string | null;
  readonly processorEventId: string | null;
  /** The span of the request, if it is traced. It is stored beside the cause, and no API shows it. */
  readonly traceparent?: string | undefined;
}

/** Finds the cause of one change among several in the same transaction, by the ids in the changed row. */
type CauseOf = (ids: readonly string[]) => Cause | undefined;

/** Work, with what it needs to know about its request. */
interface Work {
  readonly cause: Cause | CauseOf | undefined;
  /** Who waits for it. Undefined: no request does. */
  readonly caller: string | undefined;
  readonly confirm?: Confirm | undefined;
  readonly audit?: AuditedRequest | undefined;
  readonly whileWaiting?: WhileWaiting | undefined;
}

/** Waits for work that is done elsewhere. Meanwhile the request does not count as load of this process. */
export type WhileWaiting = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** A request that the audit log will contain. */
export interface AuditedRequest {
  /** The object that the request is about. Null until a creation knows the id of its object. */
  objectId: string | null;
  /** Writes the entry in the transaction of the change. `isExisting`: a creation found its object. */
  write(tx: Transaction, isExisting: boolean): void;
}

/** Fails if the API key of a request is no longer valid. A promise only if the database must be asked. */
type Confirm = () => Promise<void> | undefined;

/**
 * Follows the work through every await, so that no function in between needs to pass it on. The mark lets a bundler
 * leave it out: the console uses constants of files that import this one.
 */
const works = /* @__PURE__ */ new AsyncLocalStorage<Work>();

/** Everything that `work` starts has this cause, even after `work` has returned. Undefined: no cause. */
export function runWithCause<Result>(
  cause: Cause | undefined,
  work: () => Result,
  { confirm, audit, whileWaiting: waiting }: Omit<Work, 'cause' | 'caller'> = {},
): Result {
  return works.run({ cause, caller: callerOf(cause), confirm, audit, whileWaiting: waiting }, work);
}

/** The same for work that serves several requests or events at once. */
export function runWithCauses<Result>(causeOf: CauseOf, work: () => Result): Result {
  return works.run({ cause: causeOf, caller: currentCaller() }, work);
}

/** The same for work of this kind that no request and no event caused. A request may still wait for it. */
export function runAs<Result>(kind: Cause['kind'], work: () => Result): Result {
  const caller = longRuns.includes(kind) ? undefined : currentCaller();
  return works.run({ cause: causeOfKind(kind), caller }, work);
}

/** Runs of these kinds take minutes or hours, so no request waits for them, even if one has started them. */
const longRuns: readonly Cause['kind'][] = ['resync', 'import'];

export function causeOfKind(kind: Cause['kind']): Cause {
  return { kind, keyName: null, person: null, requestId: null, processorEventId: null };
}

/**
 * The application or the person whose request waits for the work that calls this. Undefined for work in the background.
 */
export function currentCaller(): string | undefined {
  return works.getStore()?.caller;
}

function callerOf(cause: Cause | undefined): string | undefined {
  if (cause?.kind !== 'api') return undefined;
  return cause.person ?? cause.keyName ?? '';
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

/** Whether the audit log will contain the request of the work that calls this. */
export function isAudited(): boolean {
  return works.getStore()?.audit !== undefined;
}

/**
 * Call it in the transaction of the change that a request asks for. If the audit log will contain the request, its
 * entry is part of the transaction. `createdId` is what the request has created, and `existingId` what it has found
 * instead.
 */
export function auditOperation(
  tx: Transaction,
  { createdId, existingId }: { readonly createdId?: string; readonly existingId?: string | null } = {},
): void {
  const audit = works.getStore()?.audit;
  if (audit === undefined) return;
  audit.objectId ??= existingId ?? createdId ?? null;
  audit.write(tx, typeof existingId === 'string');
}

/** Call it if a creation repeats an earlier one. The audit log then names the object that exists. */
export function auditReplay(existingId: string): void {
  const audit = works.getStore()?.audit;
  if (audit !== undefined) audit.objectId ??= existingId;
}

/**
 * Like `auditOperation`, but only if the request is about this object. Other requests change the object as a side
 * effect.
 */
export function auditChange(tx: Transaction, objectId: string): void {
  if (works.getStore()?.audit?.objectId === objectId) auditOperation(tx);
}

/**
 * Call it after a wait, before something is started for the request. Fails if the API key of the request has been
 * revoked or has expired since. Work that no request caused needs no API key.
 */
export function confirmCaller(): Promise<void> | undefined {
  return works.getStore()?.confirm?.();
}

/** Call it to wait for the processor, or for another request. Work that no request caused just waits. */
export const whileWaiting: WhileWaiting = (work) => {
  const wait = works.getStore()?.whileWaiting;
  return wait === undefined ? work() : wait(work);
};

/** The right to change an object at the processor, for a limited time, while no other process does. */
interface Turn {
  /** Extends the turn if it could end during a call of this length. Throws if another process has the turn. */
  require(callMs: number): Promise<void>;
}

/** Follows the work through every await, so that every call to the processor is covered. */
const turns = /* @__PURE__ */ new AsyncLocalStorage<Turn>();

/** Every call to the processor that `work` makes requires the turn. */
export function runInTurn<Result>(turn: Turn, work: () => Result): Result {
  return turns.run(turn, work);
}

/** The turn that the next call to the processor requires. Undefined for work that needs none. */
export function currentTurn(): Turn | undefined {
  return turns.getStore();
}
