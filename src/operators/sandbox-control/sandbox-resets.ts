import { setTimeout } from 'node:timers/promises';
import { Failure } from '#core/errors.ts';
import { auditOperation } from '#core/platform/cause.ts';
import { listAlive, type OwnerLock } from '#core/platform/owner-lock.ts';
import type { Platform } from '#core/platform/platform.ts';
import { isLockTimeout } from '#core/platform/postgres.ts';
import { WorkDoor } from '#core/platform/work-door.ts';
import { ResetWatch, type ResetWatchParts } from './reset-watch.ts';
import type { SandboxControl } from './sandbox-control.ts';
import { type ResetState, SandboxResetStore } from './sandbox-reset-store.ts';

/** A request may wait this long for others. A fault that delays them is cleared first. */
const pauseMsMax = 10_000;
/** Processes pause within milliseconds. */
const lookDelayMs = 10;

interface SandboxResetParts extends Pick<Platform, 'database' | 'logger'> {
  readonly ownerLock: Pick<OwnerLock, 'owner' | 'listen'>;
  readonly sandbox: SandboxControl;
  /** Whether the sandbox is part of this service, so that no other service uses it. */
  readonly isEmbedded: boolean;
}

/** The parts that a pause concerns, besides the work behind the door. */
export type ResetListener = Pick<ResetWatchParts, 'onPause' | 'onOpen'>;

/** The state of the sandbox. */
export interface SandboxWorld {
  /** When it was last reset. 0: never. */
  readonly lastResetMs: number;
}

/**
 * Resets the embedded sandbox together with the rows that mirror its objects. All processes pause first, so that no
 * request writes a row with earlier data after the reset. The state in the database decides: if the process of a reset
 * dies while processes pause, the reset is canceled. After that, another process finishes it.
 */
export class SandboxResets {
  readonly isEmbedded: boolean;
  readonly door = new WorkDoor();
  readonly #parts: SandboxResetParts;
  readonly #store = new SandboxResetStore();
  readonly #watch: ResetWatch;
  #listener: ResetListener = { onPause: async () => {}, onOpen: () => {} };

  constructor(parts: SandboxResetParts) {
    this.#parts = parts;
    this.isEmbedded = parts.isEmbedded;
    this.#watch = new ResetWatch({
      ...parts,
      store: this.#store,
      door: this.door,
      onPause: () => this.#listener.onPause(),
      onOpen: (wereDeleted) => this.#listener.onOpen(wereDeleted),
      resume: (state) => this.#resume(state),
    });
  }

  /** Call it before any part works. */
  async start(listener: ResetListener): Promise<void> {
    this.#listener = listener;
    const { database, isEmbedded } = this.#parts;
    await this.#watch.start();
    if (isEmbedded) await this.#store.remember(database, (await this.#readWorld()).lastResetMs);
  }

  stop(): void {
    this.#watch.stop();
  }

  /** Resolves when both are empty and all processes work again. Joins a reset that is in progress. */
  async reset(): Promise<void> {
    const { database, ownerLock } = this.#parts;
    for (;;) {
      const number = await this.#store.begin(database, ownerLock.owner);
      if (number !== undefined) return this.#carryOut(number);
      // When that reset has finished, everything from before this request is gone.
      if (await this.#follows()) return;
    }
  }

  /** Whether an event is from before the last reset, by the header with which the sandbox delivered it. */
  isOutdated(lastReset: string | undefined): boolean {
    const rowsAreOfMs = this.#watch.state?.rowsAreOfMs ?? null;
    return lastReset !== undefined && rowsAreOfMs !== null && Number(lastReset) < rowsAreOfMs;
  }

  /** Whether the sandbox was reset alone, so that the rows mirror objects that no longer exist. */
  async wasResetAlone(): Promise<boolean> {
    const { rowsAreOfMs } = await this.#store.read(this.#parts.database);
    return this.isEmbedded && rowsAreOfMs !== null && (await this.#readWorld()).lastResetMs !== rowsAreOfMs;
  }

  /** Explains a failure about a missing object, if the sandbox was reset alone. */
  async explain(error: unknown): Promise<unknown> {
    if (!this.isEmbedded || !(error instanceof Failure) || !isAboutMissing(error)) return error;
    if (!(await this.wasResetAlone().catch(() => false))) return error;
    const [condition = ''] = error.message.split(/(?<=\.)\s/);
    return new Failure(error.code, `${condition} ${resetAlone}`, { ...error.extras, cause: error });
  }

  async #readWorld(): Promise<SandboxWorld> {
    return this.#parts.sandbox.request<SandboxWorld>({ method: 'GET', path: '' });
  }

  async #carryOut(number: number): Promise<void> {
    const { database, ownerLock, sandbox } = this.#parts;
    const { owner } = ownerLock;
    let isPaused = false;
    try {
      // Requests that a fault delays end at once.
      await sandbox.request({ method: 'DELETE', path: '/faults' });
      await this.#watch.look();
      await this.#untilPaused(number);
      // From here on the reset will be finished, so the audit log contains it.
      isPaused = await database.transaction(async (tx) => {
        const proceeds = await this.#store.proceed(tx, owner, number);
        if (proceeds) auditOperation(tx);
        return proceeds;
      });
    } catch (error) {
      throw isLockTimeout(error) ? notPaused(error) : error;
    } finally {
      if (!isPaused) await this.#callOff(number);
    }
    if (isPaused) await this.#empty(number);
  }

  async #callOff(number: number): Promise<void> {
    const { database, ownerLock } = this.#parts;
    await this.#store.callOff(database, ownerLock.owner, number);
    await this.#watch.look();
  }

  /** Fails if a process does not pause in time. A process that ends meanwhile is not waited for. */
  async #untilPaused(number: number): Promise<void> {
    const { database } = this.#parts;
    const giveUpAtMs = performance.now() + pauseMsMax;
    for (;;) {
      const paused = await this.#store.listPaused(database, number);
      // Read after the pauses: a process that starts later sees the reset before it works.
      const alive = await listAlive(database);
      if (alive.every((owner) => paused.includes(owner))) return;
      if (performance.now() > giveUpAtMs) throw notPaused();
      await setTimeout(lookDelayMs);
    }
  }

  /** Empties the sandbox, and then the rows. If this fails, another attempt continues from here. */
  async #empty(number: number): Promise<void> {
    const { database, ownerLock, sandbox, logger } = this.#parts;
    const { owner } = ownerLock;
    try {
      const { lastResetMs } = await sandbox.request<SandboxWorld>({ method: 'POST', path: '/reset' });
      const isFinished = await database.transaction(async (tx) => {
        if (!(await this.#store.holds(tx, owner, number))) return false;
        await this.#store.finish(tx, lastResetMs);
        return true;
      });
      if (isFinished) logger.info('sandbox reset, and all rows deleted');
    } catch (error) {
      await this.#store.giveUp(database, owner, number).catch(() => {});
      throw isLockTimeout(error) ? notFinished(error) : error;
    } finally {
      await this.#watch.look();
    }
  }

  /** Continues the reset of a process that is gone or has failed. */
  async #resume({ phase, number }: ResetState): Promise<void> {
    this.#parts.logger.warn({ phase }, 'interrupted reset of the sandbox taken over');
    await (phase === 'pausing' ? this.#callOff(number) : this.#empty(number));
  }

  /** Waits for the reset in progress. False if there is none, or if it was canceled. */
  async #follows(): Promise<boolean> {
    const { database } = this.#parts;
    const { phase, number } = await this.#store.read(database);
    if (phase === 'none') return false;
    const giveUpAtMs = performance.now() + pauseMsMax;
    for (;;) {
      const state = await this.#store.read(database);
      if (state.finished >= number) break;
      if (state.phase === 'none' || state.number !== number) return false;
      if (performance.now() > giveUpAtMs) throw notPaused();
      await setTimeout(lookDelayMs);
    }
    await this.#watch.look();
    return true;
  }
}

function isAboutMissing({ code, extras }: Failure): boolean {
  return code === 'processor_object_missing' || extras.processorCode === 'resource_missing';
}

const resetAlone =
  "The sandbox was reset without Till, so Till's rows are of before. " +
  'Reset both with POST /api/v1/sandbox/reset.';

function notPaused(cause?: unknown): Failure {
  return new Failure(
    'sandbox_busy',
    'Requests or commands that use the sandbox or the database did not end in time, so nothing was reset. Wait for them, ' +
      'and repeat this request.',
    { cause, retryAfterSeconds: 1 },
  );
}

function notFinished(cause: unknown): Failure {
  const detail = 'The reset has begun, and waits for others that use the database. It continues on its own.';
  return new Failure('sandbox_busy', detail, { cause, retryAfterSeconds: 1 });
}
