import { Failure, isOutageOfAll, mayBeInProgress } from '#core/errors.ts';
import { confirmCaller, runInTurn, whileWaiting } from '#core/platform/cause.ts';
import { newId } from '#core/platform/id.ts';
import { isGone } from '#core/platform/owner-lock.ts';
import type { Platform } from '#core/platform/platform.ts';
import { RepeatedCheck } from '#core/platform/repeated-check.ts';
import { parentOf } from '#engine/idempotency/claim.ts';
import type { FoundClaim, WriteTurn } from '#engine/idempotency/operation.ts';
import type { TakenTurn, TurnStore, Writer } from './turn-store.ts';

/** How long a request waits for its turn: as long as a request waits for another one with the same idempotency key. */
const waitMsDefault = 10_000;
/**
 * The time that a lease has beyond the deadline of a call. Most writes take less than this, so they never renew it. A
 * dead process delays other writers until its lease ends.
 */
const leaseMarginMs = 5_000;
/** The deadline of a call is 10 s. */
const leaseMs = 10_000 + leaseMarginMs;
/** A process that waits renews this lease with every check, at least four times a second. */
const queueLeaseMs = 5_000;
/** The delay before the second check. It doubles with every further check. */
const checkDelayMs = 20;
/** The longest time until a writer notices that a writer of another process has finished. */
const checkDelayMsMax = 250;

interface TurnContext extends Pick<Platform, 'database' | 'clock' | 'ownerLock' | 'logger'> {
  readonly store: TurnStore;
  /** Settles the open claims on a subscription that ended without a result, except one. */
  readonly settle: (subscriptionId: string, exceptClaimId: string | null) => Promise<void>;
  /** Tests set a shorter wait. */
  readonly turnWaitMs?: number | undefined;
}

type TurnRequest = Pick<Writer, 'subscriptionId' | 'claimId' | 'goesFirst'>;

/**
 * Runs writes to one subscription one after the other, across processes, in the order of their arrival. Each write sees
 * the state after the one before it. See decision 0008.
 */
export class SubscriptionTurns {
  readonly #context: TurnContext;
  readonly #queues = new Map<string, Queue>();
  /** The writers of this process that have the turn. */
  readonly #working = new Set<string>();

  constructor(context: TurnContext) {
    this.#context = context;
  }

  /** Runs the work of a claim on a subscription. */
  runClaim<Result>(claim: FoundClaim, work: (turn: WriteTurn) => Promise<Result>): Promise<Result> {
    return this.run({ subscriptionId: parentOf(claim), claimId: claim.resourceId, goesFirst: false }, work);
  }

  /** Runs `work` when it has the turn. If that takes too long, fails without an effect. */
  async run<Result>(write: TurnRequest, work: (turn: WriteTurn) => Promise<Result>): Promise<Result> {
    const { ownerLock, clock } = this.#context;
    const writer = { ...write, writerId: newId(clock.now()), owner: ownerLock.owner };
    const turn = await this.#take(writer);
    this.#working.add(writer.writerId);
    try {
      if (turn.hasWaited) await confirmCaller();
      return await runInTurn(turn, async () => {
        if (!turn.isSettled) turn.isSettled = await this.#settle(writer);
        return work(turn);
      });
    } finally {
      await turn.end();
      this.#working.delete(writer.writerId);
      this.#queues.get(writer.subscriptionId)?.check();
    }
  }

  /**
   * Settles the unfinished work of an earlier writer. If that fails, a write that depends on it fails too. A
   * cancellation has the same result whatever the earlier write did, so it goes on, and the next writer settles the
   * rest. Returns false in that case.
   */
  async #settle({ subscriptionId, claimId, goesFirst }: Writer): Promise<boolean> {
    const { settle, logger } = this.#context;
    try {
      await settle(subscriptionId, claimId);
      return true;
    } catch (error) {
      if (!goesFirst || isOutageOfAll(error)) throw error;
      logger.warn({ err: error, subscriptionId }, 'subscription canceled before an unsettled write');
      return false;
    }
  }

  async #take(writer: Writer): Promise<HeldTurn> {
    const { database, store } = this.#context;
    const startedMs = performance.now();
    if (await store.takeFree(database, writer, leaseMs))
      return new HeldTurn(this.#context, writer, { isTakenOver: false, startedMs, hasWaited: false });
    const { subscriptionId } = writer;
    const queue = this.#queues.get(subscriptionId) ?? this.#openQueue(subscriptionId);
    return whileWaiting(() => queue.wait(writer));
  }

  #openQueue(subscriptionId: string): Queue {
    const queue = new Queue(this.#context, subscriptionId, {
      isWorking: (writerId) => this.#working.has(writerId),
      onEmpty: () => {
        // Another queue may have replaced this one.
        if (this.#queues.get(subscriptionId) === queue) this.#queues.delete(subscriptionId);
      },
    });
    this.#queues.set(subscriptionId, queue);
    return queue;
  }
}

interface HeldSince {
  readonly isTakenOver: boolean;
  readonly startedMs: number;
  readonly hasWaited: boolean;
}

/** A turn that a writer of this process has. */
class HeldTurn implements WriteTurn {
  readonly hasWaited: boolean;
  /** False until the unfinished work of an earlier writer is settled. */
  isSettled: boolean;
  readonly #context: TurnContext;
  readonly #writer: Writer;
  /** Measured from before the statement, so that the lease in the database never ends earlier. */
  #leasedUntilMs: number;
  #isOver = false;
  #mustExpire = false;

  constructor(context: TurnContext, writer: Writer, { isTakenOver, startedMs, hasWaited }: HeldSince) {
    this.#context = context;
    this.#writer = writer;
    this.isSettled = !isTakenOver;
    this.hasWaited = hasWaited;
    this.#leasedUntilMs = startedMs + leaseMs;
  }

  /** Work that continues after the turn only reads, so it needs no lease. */
  async require(callMs: number): Promise<void> {
    const { database, store } = this.#context;
    const startedMs = performance.now();
    if (this.#isOver || this.#leasedUntilMs - startedMs > callMs) return;
    const renewedMs = callMs + leaseMarginMs;
    if (!(await store.renew(database, this.#writer, renewedMs))) throw turnLost();
    this.#leasedUntilMs = startedMs + renewedMs;
  }

  leaveOpen(error: unknown): void {
    this.isSettled = false;
    // The processor may still carry out the call. Until the lease expires, only the same request may continue.
    this.#mustExpire = mayBeInProgress(error);
  }

  /** If the statement fails, the lease expires by itself. */
  async end(): Promise<void> {
    const { database, store } = this.#context;
    this.#isOver = true;
    if (this.#mustExpire) return;
    const ending = this.isSettled ? store.end(database, this.#writer) : store.expire(database, this.#writer);
    await ending.catch(() => {});
  }
}

interface TurnWaiter {
  readonly writer: Writer;
  readonly giveUpAtMs: number;
  readonly resolve: (turn: HeldTurn) => void;
  readonly reject: (error: unknown) => void;
}

interface QueueHooks {
  /** Whether a writer of this process has the turn. */
  readonly isWorking: (writerId: string) => boolean;
  readonly onEmpty: () => void;
}

/** The writers of this process that wait for the turn of one subscription. One check serves all of them. */
class Queue {
  readonly #context: TurnContext;
  readonly #subscriptionId: string;
  readonly #hooks: QueueHooks;
  /** In order of arrival. Only a check removes a writer, so that no statement about it is in progress. */
  readonly #waiters = new Map<string, TurnWaiter>();
  readonly #checks: RepeatedCheck;

  constructor(context: TurnContext, subscriptionId: string, hooks: QueueHooks) {
    this.#context = context;
    this.#subscriptionId = subscriptionId;
    this.#hooks = hooks;
    this.#checks = new RepeatedCheck({
      check: () => this.#check(),
      delayMs: checkDelayMs,
      delayMsMax: checkDelayMsMax,
    });
  }

  wait(writer: Writer): Promise<HeldTurn> {
    const { promise, resolve, reject } = Promise.withResolvers<HeldTurn>();
    const giveUpAtMs = performance.now() + (this.#context.turnWaitMs ?? waitMsDefault);
    this.#waiters.set(writer.writerId, { writer, giveUpAtMs, resolve, reject });
    this.check();
    return promise;
  }

  check(): void {
    this.#checks.now();
  }

  /** True while a writer waits. */
  async #check(): Promise<boolean> {
    const checked = [...this.#waiters.values()];
    try {
      await this.#removeLate(checked);
      await this.#giveTurn(checked);
    } catch (error) {
      // The queue leases of these writers expire by themselves.
      for (const { writer, reject } of checked) {
        this.#waiters.delete(writer.writerId);
        reject(error);
      }
    }
    if (this.#waiters.size > 0) return true;
    this.#hooks.onEmpty();
    return false;
  }

  async #removeLate(checked: readonly TurnWaiter[]): Promise<void> {
    const { database, store } = this.#context;
    const late = checked.filter(({ giveUpAtMs }) => giveUpAtMs <= performance.now());
    if (late.length === 0) return;
    for (const { writer } of late) this.#waiters.delete(writer.writerId);
    const writerIds = late.map(({ writer }) => writer.writerId);
    await store.leaveQueue(database, writerIds).catch(() => {});
    for (const { reject } of late) reject(busy());
  }

  async #giveTurn(checked: readonly TurnWaiter[]): Promise<void> {
    const { database, store } = this.#context;
    const writers = checked
      .filter(({ writer }) => this.#waiters.has(writer.writerId))
      .map(({ writer }) => writer);
    if (writers.length === 0) return;
    await store.wait(database, writers, queueLeaseMs);
    const startedMs = performance.now();
    const turn =
      (await store.takeNext(database, this.#subscriptionId, writers, leaseMs)) ??
      (await this.#resume(writers));
    const waiter = turn && this.#waiters.get(turn.writerId);
    if (turn === undefined || waiter === undefined) return;
    this.#waiters.delete(turn.writerId);
    waiter.resolve(new HeldTurn(this.#context, waiter.writer, { ...turn, startedMs, hasWaited: true }));
    this.#checks.hurry();
  }

  /**
   * A request that resumes a claim also continues the turn of that claim, if the process that had it is gone. Other
   * writers wait for the lease: a process that lost its connection looks gone, but may still call the processor.
   */
  async #resume(writers: readonly Writer[]): Promise<TakenTurn | undefined> {
    const { database, store, ownerLock } = this.#context;
    const holder = await store.findHolder(database, this.#subscriptionId);
    const writer = writers.find(({ claimId }) => claimId !== null && claimId === holder?.claimId);
    if (holder === undefined || writer === undefined) return undefined;
    const isLeft =
      holder.owner === ownerLock.owner
        ? !this.#hooks.isWorking(holder.writerId)
        : await isGone(database, holder.owner);
    if (!isLeft) return undefined;
    const turn = await store.resume(database, writer, holder, leaseMs);
    if (turn !== undefined) await store.leaveQueue(database, [writer.writerId]);
    return turn;
  }
}

function busy(): Failure {
  return new Failure(
    'subscription_busy',
    'Other requests are changing the subscription. This request did not change it. Repeat this request.',
    { retryAfterSeconds: 1, effect: 'none' },
  );
}

/** The process was paused for longer than its lease. */
function turnLost(): Failure {
  return new Failure(
    'overloaded',
    'The request took too long, and another request has changed the subscription meanwhile. Repeat this request.',
    { retryAfterSeconds: 1, effect: 'unknown' },
  );
}
