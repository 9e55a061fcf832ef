import type { Queryable } from '#core/platform/postgres.ts';

/** All SQL for the id of the installation. */
export class InstallationStore {
  async readId(db: Queryable): Promise<string> {
    const [row] = await db.query<{ id: string }>('select id from till.installation');
    if (row === undefined) throw new Error('the database has no installation id');
    return row.id;
  }
}
