import type { Database } from '../platform/postgres.ts';
import type { CountedRows } from './list-page.ts';

/** The advisory lock under which totals are corrected ("tlct" in ASCII): two at a time would both add the difference. */
const lockClass = 0x746c6374;

export interface TotalCorrection {
  readonly resource: string;
  /** What was added to the total. */
  readonly correction: number;
}

/**
 * Counts the rows of every list and corrects totals that differ. Rows and totals are counted in one snapshot, and every
 * writer commits both together, so the difference is exact while others write.
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
