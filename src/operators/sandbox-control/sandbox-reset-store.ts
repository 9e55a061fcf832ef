import type { Queryable } from '#core/platform/postgres.ts';

/** Notices of changes of the reset in progress. */
export const resetChannel = 'till_sandbox_reset';

export interface ResetState {
  readonly phase: 'none' | 'pausing' | 'resetting';
  readonly number: number;
  /** The number of the last reset that was not canceled. */
  readonly finished: number;
  /** The process that resets. Null if it failed. */
  readonly owner: number | null;
  /** The sandbox world that the rows mirror. Null if that is not known yet. */
  readonly rowsAreOfMs: number | null;
}

/** All SQL for till.sandbox_resets and till.sandbox_pauses. */
export class SandboxResetStore {
  async read(db: Queryable): Promise<ResetState> {
    const [row] = await db.query<ResetState>(
      `select phase, number, finished, owner, rows_are_of_ms as "rowsAreOfMs" from till.sandbox_resets`,
      [],
      'read_sandbox_reset',
    );
    if (row === undefined) throw new Error('till.sandbox_resets has no row');
    return row;
  }

  /** Begins a reset. Returns its number, or undefined if one is in progress. */
  async begin(db: Queryable, owner: number): Promise<number | undefined> {
    const [row] = await db.query<{ number: number }>(
      `update till.sandbox_resets set phase = 'pausing', number = number + 1, owner = $1
       where phase = 'none' returning number, ${notice}`,
      [owner],
    );
    return row?.number;
  }

  /** Records that a process has paused. */
  async pause(db: Queryable, owner: number, number: number): Promise<void> {
    await db.query(
      `insert into till.sandbox_pauses (owner, number) values ($1, $2)
       on conflict (owner) do update set number = greatest(sandbox_pauses.number, excluded.number)`,
      [owner, number],
    );
  }

  async listPaused(db: Queryable, number: number): Promise<readonly number[]> {
    const rows = await db.query<{ owner: number }>(
      'select owner from till.sandbox_pauses where number = $1',
      [number],
    );
    return rows.map(({ owner }) => owner);
  }

  /**
   * From here on the reset must be finished, if necessary by another process. False if this process has lost it. Fails
   * if the rows cannot be deleted now, because another session reads them.
   */
  async proceed(tx: Queryable, owner: number, number: number): Promise<boolean> {
    await tx.query('select till.lock_tables_of_sandbox()');
    const rows = await tx.query(
      `update till.sandbox_resets set phase = 'resetting'
       where phase = 'pausing' and number = $2 and owner = $1 returning ${notice}`,
      [owner, number],
    );
    return rows.length > 0;
  }

  /** Cancels a reset that has not emptied anything. */
  async callOff(db: Queryable, owner: number, number: number): Promise<void> {
    await db.query(
      `update till.sandbox_resets set phase = 'none', owner = null
       where phase = 'pausing' and number = $2 and owner = $1 returning ${notice}`,
      [owner, number],
    );
  }

  /** Takes a reset over from a process that is gone or has failed. False if another process was faster. */
  async takeOver(db: Queryable, from: ResetState, owner: number): Promise<boolean> {
    const rows = await db.query(
      `update till.sandbox_resets set owner = $3
       where phase <> 'none' and number = $1 and owner is not distinct from $2 returning number`,
      [from.number, from.owner, owner],
    );
    return rows.length > 0;
  }

  /** Allows any process to take the reset over. */
  async giveUp(db: Queryable, owner: number, number: number): Promise<void> {
    await db.query('update till.sandbox_resets set owner = null where number = $2 and owner = $1', [
      owner,
      number,
    ]);
  }

  /** Whether this process still owns the reset. Locks it until the end of the transaction. */
  async holds(tx: Queryable, owner: number, number: number): Promise<boolean> {
    const rows = await tx.query(
      `select number from till.sandbox_resets
       where phase = 'resetting' and number = $2 and owner = $1 for update`,
      [owner, number],
    );
    return rows.length > 0;
  }

  /** Deletes the rows, and ends the reset. */
  async finish(tx: Queryable, sandboxResetMs: number): Promise<void> {
    await tx.query(`select till.delete_rows_of_sandbox($1), ${notice}`, [sandboxResetMs]);
  }

  /** Records which sandbox world the rows mirror, unless that is known. */
  async remember(db: Queryable, sandboxResetMs: number): Promise<void> {
    await db.query('update till.sandbox_resets set rows_are_of_ms = $1 where rows_are_of_ms is null', [
      sandboxResetMs,
    ]);
  }

  /** From now on the rows mirror another sandbox world. */
  async forget(db: Queryable): Promise<void> {
    await db.query('update till.sandbox_resets set rows_are_of_ms = null');
  }
}

/** PostgreSQL sends it when the change is visible. */
const notice = `pg_notify('${resetChannel}', '')`;
