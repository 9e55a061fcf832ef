import type { Transaction } from '../platform/postgres.ts';
import type { Table } from '../platform/table.ts';

interface ErasableRow {
  readonly id: string;
  readonly customerId: string | null;
  readonly processorSubscriptionId: string | null;
  readonly metadata: unknown;
}

/** Reports the rows of deleted customers whose metadata was erased. A trigger erases it with the customer. */
export async function reportErased<Row extends ErasableRow>(
  tx: Transaction,
  { name }: Pick<Table<Row>, 'name'>,
  customerIds: readonly string[],
): Promise<void> {
  const rows = await tx.query<Pick<ErasableRow, 'id' | 'processorSubscriptionId'>>(
    `select id, processor_subscription_id as "processorSubscriptionId" from till.${name}
     where customer_id = any($1) and metadata is null`,
    [customerIds],
  );
  tx.written.add(
    name,
    rows.map((row) => ({ row })),
  );
}
