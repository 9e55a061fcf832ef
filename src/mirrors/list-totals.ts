import type { Database } from '../platform/postgres.ts';

/** The lists whose totals are counted, and which rows each counts: as `listPage` and the triggers do. */
const counted = {
  customers: 'deleted_at is null',
  payments: 'true',
  subscriptions: 'true',
  invoices: 'true',
} as const;

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
export async function correctListTotals(database: Database): Promise<readonly TotalCorrection[]> {
  const corrections: TotalCorrection[] = [];
  for (const [resource, condition] of Object.entries(counted)) {
    const correction = await database.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1, 0)', [lockClass]);
      const [row] = await tx.query<{ correction: number }>(
        `select correction, till.add_to_list_count($1, correction) from (
           select (select count(*) from till.${resource} where ${condition})
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
