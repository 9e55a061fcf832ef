import { isGone, type OwnerLock } from '#core/platform/owner-lock.ts';
import type { Platform } from '#core/platform/platform.ts';
import { shareConcurrent } from '#core/platform/share-concurrent.ts';
import type { WorkDoor } from '#core/platform/work-door.ts';
import { type ResetState, resetChannel, type SandboxResetStore } from './sandbox-reset-store.ts';

/** Notices arrive at once. This check covers lost ones, and a process that died. It costs one small statement. */
const lookDelayMs = 200;

export interface ResetWatchParts extends Pick<Platform, 'database' | 'logger'> {
  readonly ownerLock: Pick<OwnerLock, 'owner' | 'listen'>;
  readonly store: SandboxResetStore;
  readonly door: WorkDoor;
  /** Ends work that continues without having entered the door. */
  readonly onPause: () => Promise<void>;
  /** Called before the door opens. Clears what this process remembers of the rows, if they were deleted. */
  readonly onOpen: (wereDeleted: boolean) => void;
  /** Continues a reset that was taken over. */
  readonly resume: (state: ResetState) => Promise<void>;
}

/**
 * Follows the resets of the sandbox: closes the door of this process during a reset, and records when it has paused.
 */
export class ResetWatch {
  readonly #parts: ResetWatchParts;
  readonly #look = shareConcurrent(() => this.#lookNow());
  #timer: NodeJS.Timeout | undefined;
  #state: ResetState | undefined;
  /** The last reset after which this process has cleared its memory. Undefined before the first check. */
  #followed: number | undefined;
  #isStopped = false;

  constructor(parts: ResetWatchParts) {
    this.#parts = parts;
  }

  /** The state at the last check. */
  get state(): ResetState | undefined {
    return this.#state;
  }

  /** Begins before this process works. Waits for a reset in progress, and finishes it if its process is gone. */
  async start(): Promise<void> {
    const { ownerLock, door } = this.#parts;
    await ownerLock.listen(resetChannel, () => void this.#lookSoon());
    await this.look();
    while (door.isClosed) await door.untilOpen(lookDelayMs);
  }

  /** Resolves when this process has acted on everything that was committed before the call, except its own pause. */
  async look(): Promise<void> {
    // A check in progress may have read the state before the call.
    await this.#look().catch(() => {});
    await this.#look();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #lookSoon(): Promise<void> {
    await this.look().catch((error: unknown) => {
      this.#parts.logger.warn({ err: error }, 'state of the sandbox reset not read; retry scheduled');
      this.#lookLater();
    });
  }

  #lookLater(): void {
    clearTimeout(this.#timer);
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.#lookSoon(), lookDelayMs);
  }

  async #lookNow(): Promise<void> {
    const { database, store, door, onPause, onOpen } = this.#parts;
    const state = await store.read(database);
    if (this.#isStopped) return;
    this.#state = state;
    this.#followed ??= state.finished;
    if (state.phase !== 'none') return this.#pause(state);
    clearTimeout(this.#timer);
    // Another process may have finished a reset before this one noticed its start, if this one has no owner lock.
    const wereDeleted = this.#followed !== state.finished;
    if (wereDeleted && !door.isClosed) await door.close().then(onPause);
    if (!door.isClosed) return;
    onOpen(wereDeleted);
    this.#followed = state.finished;
    door.open();
  }

  async #pause(state: ResetState): Promise<void> {
    const { database, ownerLock, store, door, onPause, resume, logger } = this.#parts;
    const emptied = door.close().then(onPause);
    this.#lookLater();
    const fail = (error: unknown) => logger.warn({ err: error }, 'pause for the sandbox reset failed');
    // Not awaited, because the reset may be canceled meanwhile.
    void emptied.then(() => this.#report(state)).catch(fail);
    const isOrphaned =
      state.owner === null || (state.owner !== ownerLock.owner && (await isGone(database, state.owner)));
    if (isOrphaned && (await store.takeOver(database, state, ownerLock.owner)))
      void resume({ ...state, owner: ownerLock.owner }).catch(fail);
  }

  async #report({ number, phase }: ResetState): Promise<void> {
    const { database, ownerLock, store, door } = this.#parts;
    if (phase === 'pausing' && door.isClosed && !this.#isStopped)
      await store.pause(database, ownerLock.owner, number);
  }
}
