import cluster from 'node:cluster';
import { withDeadline } from '#core/platform/deadline.ts';
import type { Logger } from '#core/platform/logger.ts';
import { GatheredMetrics } from './gathered-metrics.ts';
import { Member } from './member.ts';
import type { GroupState, Seat, ToParent, ToProcess } from './messages.ts';

/** A process that served for this long is healthy. If it ends later, that counts as the first end in a row. */
const healthyAfterMs = 60_000;
/** If no process serves after this many ends in a row, the parent ends with an error. */
const endsInARowMax = 5;
/** A process that dies once should be back within a moment. */
const firstDelayMs = 500;
/** Rare enough to cost nothing, and often enough to notice that the cause is gone. */
const delayMsMax = 30_000;
/** As long as a large migration may take. */
const startTimeoutMs = 600_000;

interface GroupOptions {
  readonly count: number;
  /** The settings of the process with this number. */
  readonly seatOf: (number: number) => Seat;
  /** The variables of the processes. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** How long a process may take to stop, or to retire, before it is killed. */
  readonly stopTimeoutMs: number;
  readonly logger: Logger;
}

/** The place of one process, which a replacement takes over. */
interface Place<Facts> {
  readonly number: number;
  current: Member<Facts> | undefined;
  /** A process that starts, and takes the place when it is ready. */
  next: Member<Facts> | undefined;
  endsInARow: number;
  restartTimer: NodeJS.Timeout | undefined;
  /** The last restart. It resolves when that process serves, or when its start has failed. */
  restart: Promise<unknown>;
}

/**
 * Starts processes that serve on one port, restarts those that end, and replaces all of them one by one. The parent
 * accepts connections and gives them to the processes in turn; it serves no requests itself.
 */
export class ProcessGroup<Facts> {
  readonly #options: GroupOptions;
  readonly #places: readonly Place<Facts>[];
  /** All processes that have not ended, with those that retire. */
  readonly #running = new Set<Member<Facts>>();
  readonly #metrics = new GatheredMetrics<Facts>();
  readonly #failed = Promise.withResolvers<string>();
  #restarts = 0;
  #hasStarted = false;
  #isStopping = false;
  #replacing: Promise<void> | undefined;
  #mustReplaceAgain = false;
  #reloads = 0;

  constructor(options: GroupOptions) {
    this.#options = options;
    this.#places = Array.from({ length: options.count }, (_, index) => ({
      number: index + 1,
      current: undefined,
      next: undefined,
      endsInARow: 0,
      restartTimer: undefined,
      restart: Promise.resolve(),
    }));
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  /** Resolves, with the reason, when the group gives up: no process serves, and none could be restarted. */
  get failed(): Promise<string> {
    return this.#failed.promise;
  }

  /**
   * Starts the first process, which migrates the database and takes the port, then the others. Rejects if one fails.
   */
  async start(): Promise<Facts> {
    const [first, ...others] = this.#places;
    if (first === undefined) throw new Error('there is no process to start');
    const facts = await this.#fill(first);
    await Promise.all(others.map((place) => this.#fill(place)));
    this.#hasStarted = true;
    // A process that was ready may have ended while others started.
    for (const place of this.#places) if (place.current === undefined) this.#restartLater(place, 0);
    return facts;
  }

  /**
   * Replaces every process by a new one. Each new one serves before the old one stops. The old ones also get the signal
   * to reload, because a revoked API key must not stay valid until they are replaced. A process that is starting gets
   * it as soon as it is ready.
   */
  replaceAll(): Promise<void> {
    this.#reloads += 1;
    for (const member of this.#running) if (member.isReady) member.signal('SIGHUP');
    this.#mustReplaceAgain = true;
    this.#replacing ??= this.#replaceInTurn().finally(() => {
      this.#replacing = undefined;
    });
    return this.#replacing;
  }

  /** Resolves when every process follows the clock of the sandbox. One that starts later learns it from its seat. */
  async setClock(aheadSeconds: number): Promise<void> {
    const seated = [...this.#running].filter(({ hasSeat }) => hasSeat);
    await Promise.all(
      seated.map((member) =>
        member.ask({ kind: 'clock', aheadSeconds }).catch((err: unknown) => {
          this.#options.logger.warn({ err, process: member.number }, 'clock not confirmed');
        }),
      ),
    );
  }

  /** Stops all processes at the same time. True if every one ended in time, without an error. */
  async stop(): Promise<boolean> {
    this.#isStopping = true;
    for (const { restartTimer } of this.#places) clearTimeout(restartTimer);
    const ended = await Promise.all(
      [...this.#running].map((member) => {
        member.signal('SIGTERM');
        return this.#waitForEnd(member);
      }),
    );
    return ended.every((isClean) => isClean);
  }

  /** Starts a process, which takes the place when it is ready. */
  async #fill(place: Place<Facts>): Promise<Facts> {
    const { logger, environment } = this.#options;
    const reloads = this.#reloads;
    const member = new Member<Facts>(place.number, cluster.fork(environment));
    place.next = member;
    this.#running.add(member);
    member.onMessage((message) => this.#receive(member, message));
    void member.ended.then((end) => this.#onEnd(place, member, end));
    logger.info({ process: member.number, pid: member.pid }, 'process started');
    try {
      const facts = await withDeadline(member.ready, startTimeoutMs, `the start of process ${place.number}`);
      // It may have read the API keys before they changed.
      if (this.#reloads !== reloads) member.signal('SIGHUP');
      place.current = member;
      place.next = undefined;
      this.#announceState();
      return facts;
    } catch (error) {
      member.signal('SIGKILL');
      throw error;
    }
  }

  async #replaceInTurn(): Promise<void> {
    const { logger, count } = this.#options;
    while (this.#mustReplaceAgain && !this.#isStopping) {
      this.#mustReplaceAgain = false;
      logger.info({ processes: count }, 'replacing all processes');
      try {
        for (const place of this.#places) await this.#replace(place);
        logger.info({ processes: count }, 'all processes replaced');
      } catch (error) {
        if (!this.#isStopping) logger.error({ err: error }, 'replacement failed; current processes kept');
      }
    }
  }

  async #replace(place: Place<Facts>): Promise<void> {
    // A process that is being restarted is replaced as well: it may have started before the settings changed.
    await place.restart;
    if (this.#isStopping) return;
    clearTimeout(place.restartTimer);
    const previous = place.current;
    await this.#fill(place);
    place.endsInARow = 0;
    if (previous === undefined || previous.hasEnded) return;
    previous.retire();
    await this.#waitForEnd(previous);
  }

  async #waitForEnd(member: Member<Facts>): Promise<boolean> {
    const { stopTimeoutMs, logger } = this.#options;
    try {
      const { code } = await withDeadline(member.ended, stopTimeoutMs, `the end of process ${member.number}`);
      return code === 0;
    } catch (error) {
      logger.error({ err: error, process: member.number, pid: member.pid }, 'process killed');
      member.signal('SIGKILL');
      await member.ended;
      return false;
    }
  }

  #onEnd(
    place: Place<Facts>,
    member: Member<Facts>,
    end: { code: number | null; signal: string | null },
  ): void {
    const { logger } = this.#options;
    this.#running.delete(member);
    this.#metrics.keep(member);
    if (place.current === member) place.current = undefined;
    if (place.next === member) place.next = undefined;
    this.#announceState();
    const fields = { process: member.number, pid: member.pid, ...end };
    if (member.isLeaving || this.#isStopping) {
      logger.info(fields, 'process ended');
      return;
    }
    logger.error(fields, 'process ended unexpectedly');
    // A failed start of the whole group is not retried, and a replacement takes the place of a process that ended.
    if (this.#hasStarted && place.next === undefined && place.current === undefined)
      this.#restartLater(place, member.servedMs);
  }

  #restartLater(place: Place<Facts>, servedMs: number): void {
    place.endsInARow = servedMs >= healthyAfterMs ? 1 : place.endsInARow + 1;
    if (place.endsInARow > endsInARowMax && this.#state().serving === 0) {
      this.#failed.resolve(`process ${place.number} ended ${place.endsInARow} times in a row`);
      return;
    }
    const delayMs = restartDelayMs(place.endsInARow);
    this.#options.logger.warn({ process: place.number, delayMs }, 'process restart scheduled');
    place.restartTimer = setTimeout(() => {
      this.#restarts += 1;
      // Its end is reported, and causes the next restart.
      place.restart = this.#fill(place).catch(() => {});
    }, delayMs);
  }

  #state(): GroupState {
    const serving = this.#places.filter(({ current }) => current !== undefined).length;
    return { serving, restarts: this.#restarts };
  }

  #announceState(): void {
    const message: ToProcess = { kind: 'state', state: this.#state() };
    for (const member of this.#running) if (member.isReady) member.send(message);
  }

  /** Sends the metrics of all other processes to the process that is scraped. */
  async #gather(scraped: Member<Facts>, id: number): Promise<void> {
    const others = [...this.#running].filter((member) => member.isReady && member !== scraped);
    scraped.send({ kind: 'reports', id, reports: await this.#metrics.gather(others) });
  }

  #receive(member: Member<Facts>, message: ToParent<Facts>): void {
    if (message.kind === 'hello') member.begin(this.#options.seatOf(member.number));
    else if (message.kind === 'gather') void this.#gather(member, message.id);
    // The first process does the background work.
    else if (message.kind === 'work') this.#places[0]?.current?.send({ kind: 'work' });
  }
}

/** How long to wait before a process is restarted: twice as long after each end in a row, up to half a minute. */
export function restartDelayMs(endsInARow: number): number {
  return Math.min(firstDelayMs * 2 ** (endsInARow - 1), delayMsMax);
}
