import type { Transaction } from '#core/platform/postgres.ts';
import type { Table } from '#core/platform/table.ts';

interface OwnedRow {
  readonly id: string;
  readonly metadata: unknown;
  readonly updatedAt: Date;
}

/**
 * Takes the place of erased metadata in the row before the change, so that the change is visible. Events do not contain
 * it.
 */
const erasedMetadata = { erased: '' };

/**
 * Erases the metadata of the rows that belong to deleted customers, and other columns with personal data. No later
 * facts set it again.
 */
export async function eraseOwned<Row extends OwnedRow>(
  tx: Transaction,
  { name, ownColumns }: Table<Row>,
  customerIds: readonly string[],
  otherColumns: readonly string[] = [],
): Promise<void> {
  const isFilled = ["one.metadata <> '{}'", ...otherColumns.map((column) => `one.${column} is not null`)];
  const erased = ['metadata', ...otherColumns].map((column) => `${column} = null`);
  const rows = await tx.query<Row & { readonly updatedBefore: Date }>(
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
  const before = rows.map((row) => ({ ...row, metadata: erasedMetadata, updatedAt: row.updatedBefore }));
  tx.written.addChanged(name, rows, before);
}
