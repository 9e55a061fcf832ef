import type { Database } from '#core/platform/postgres.ts';
import type { CountedRows } from './list.ts';

/** The advisory lock for correcting totals ("tlct" in ASCII): two concurrent runs would both add the difference. */
const lockClass = 0x746c6374;

export interface TotalCorrection {
  readonly resource: string;
  /** The amount added to the total. */
  readonly correction: number;
}

/**
 * Counts the rows of every list and corrects totals that differ. Rows and totals are read in one snapshot, and every
 * writer commits both together, so the difference is exact even during writes.
 */
export async function correctListTotals(
  database: Database,
  lists: readonly CountedRows[],
): Promise<readonly TotalCorrection[]> {
  const corrections: TotalCorrection[] = [];
  for (const { table, only = 'true' } of lists) {
    const resource = table.name;
    const correction = await database.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1, 0)', [lockClass]);
      const [row] = await tx.query<{ correction: number }>(
        `select correction, till.add_to_list_count($1, correction) from (
           select (select count(*) from till.${resource} where ${only})
             - (select coalesce(sum(count), 0)::bigint from till.list_counts where resource = $1) as correction
         ) as difference`,
        [resource],
      );
      return row?.correction ?? 0;
    });
    if (correction !== 0) corrections.push({ resource, correction });
  }
  return corrections;
}
