import type { Transaction } from '#core/platform/postgres.ts';
import type { Table } from '#core/platform/table.ts';

/** Rows that belong to customers, and their columns with personal data. */
export interface OwnedRows {
  readonly table: Table<{ readonly id: string; readonly updatedAt: Date }>;
  readonly columns: readonly string[];
}

/** Erases the personal data in the rows that belong to deleted customers. No later facts set it again. */
export async function eraseOwned(
  tx: Transaction,
  owned: readonly OwnedRows[],
  customerIds: readonly string[],
): Promise<void> {
  for (const rows of owned) await eraseColumns(tx, rows, customerIds);
}

interface OwnedRow {
  readonly id: string;
  readonly updatedBefore: Date;
}

/**
 * Takes the place of erased metadata in the row before the change, so that the change is visible. Events do not contain
 * it.
 */
const erasedMetadata = { erased: '' };

async function eraseColumns(
  tx: Transaction,
  { table: { name, ownColumns }, columns }: OwnedRows,
  customerIds: readonly string[],
): Promise<void> {
  const isFilled = columns.map((column) =>
    column === 'metadata' ? "one.metadata <> '{}'" : `one.${column} is not null`,
  );
  const erased = columns.map((column) => `${column} = null`);
  const rows = await tx.query<OwnedRow>(
    `with owned as (
       select one.id, one.updated_at, customers.updated_at as erased_at from till.${name} one
       join till.customers on customers.id = one.customer_id
       where customers.id = any($1) and customers.deleted_at is not null and (${isFilled.join(' or ')})
       order by one.id for no key update of one)
     update till.${name} set ${erased.join(', ')}, revision = revision + 1,
       updated_at = greatest(owned.updated_at, owned.erased_at)
     from owned where ${name}.id = owned.id returning ${ownColumns}, owned.updated_at as "updatedBefore"`,
    [customerIds],
  );
  const hidden = columns.includes('metadata') ? { metadata: erasedMetadata } : {};
  const before = rows.map((row) => ({ ...row, ...hidden, updatedAt: row.updatedBefore }));
  tx.written.addChanged(name, rows, before);
}
