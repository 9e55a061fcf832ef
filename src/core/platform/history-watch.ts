import { isOutageOfAll } from '../errors.ts';
import type { Platform } from './platform.ts';

interface Sight {
  readonly history: number;
  /** The highest event position that was assigned. */
  readonly drawn: number;
  readonly isStandby: boolean;
}

/**
 * Notices a failover or a restore, after which the newest commits may be missing: see `till.history` and decision 0009.
 * Leases and readers of events compare the history by themselves, in statements that they run anyway.
 */
export class HistoryWatch {
  readonly #context: Pick<Platform, 'database' | 'logger'>;
  /** Called when commits may be missing. */
  readonly #onChange: () => void;
  #last: Sight | undefined;

  constructor(context: Pick<Platform, 'database' | 'logger'>, onChange: () => void) {
    this.#context = context;
    this.#onChange = onChange;
  }

  /** For a new history that this service has started itself: the next check makes no comparison. */
  forget(): void {
    this.#last = undefined;
  }

  /** Compares the database with its state at the last check. One check at a time. */
  async check(): Promise<void> {
    const { database, logger } = this.#context;
    let sight = await this.#look().catch((error: unknown) => {
      // Other code reports an outage. The next check notices its consequences.
      if (!isOutageOfAll(error)) throw error;
    });
    const last = this.#last;
    if (sight === undefined) return;
    if (last?.history === sight.history && sight.drawn < last.drawn) {
      // A backup was restored into a server that kept running.
      await database.query('select till.break_history()');
      sight = (await this.#look()) ?? sight;
    }
    this.#last = sight;
    if (last === undefined || last.history === sight.history) return;
    logger.warn('database restarted, failed over or restored; recovery started');
    this.#onChange();
  }

  /** Undefined on a standby: nothing can be recovered before it is promoted. */
  async #look(): Promise<Sight | undefined> {
    const [sight] = await this.#context.database.query<Sight>(
      `select till.history() as history, till.drawn_event_position() as drawn, pg_is_in_recovery() as "isStandby"`,
      [],
      'look_at_history',
    );
    return sight?.isStandby === false ? sight : undefined;
  }
}
