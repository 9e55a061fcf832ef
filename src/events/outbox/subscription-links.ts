import type { Invoice } from '../../model/invoice.ts';
import type { Payment } from '../../model/payment.ts';
import type { Subscription } from '../../model/subscription.ts';
import type { Transaction } from '../../platform/postgres.ts';
import type { WrittenRow } from '../../platform/written-rows.ts';

/** Few enough that a large batch does not fill the server's lock table, and enough that batches rarely collide. */
const locksMax = 256;

/** A row that shows a value of another row of the same subscription, or whose values another row shows. */
interface LinkedRow {
  readonly id: string;
  readonly processorSubscriptionId?: string | null;
}

interface LinkReaders {
  readonly subscriptions: {
    findByKeys(tx: Transaction, keys: readonly string[]): Promise<readonly Subscription[]>;
  };
  readonly invoices: {
    findOfSubscriptions(tx: Transaction, keys: readonly string[]): Promise<readonly Invoice[]>;
  };
  readonly payments: {
    findOfSubscriptions(tx: Transaction, keys: readonly string[]): Promise<readonly Payment[]>;
    findOfInvoices(
      tx: Transaction,
      subscriptionKeys: readonly string[],
      invoiceKeys: readonly string[],
    ): Promise<readonly Payment[]>;
  };
}

/** A row that shows different values because another row was written. */
interface DependentRow {
  readonly table: string;
  readonly row: { readonly id: string };
}

const linkedTables = ['subscriptions', 'invoices', 'payments'];

/**
 * Subscriptions, their invoices and their payments show ids of each other, and a subscription also shows whether it is
 * paid. These values are looked up when a row is read, because any of them may be written first, by transactions that
 * do not see each other. So a transaction that writes one of these rows locks the subscription before it reads them.
 */
export class SubscriptionLinks {
  readonly #readers: LinkReaders;

  constructor(readers: LinkReaders) {
    this.#readers = readers;
  }

  /** The numbers of the locks that these rows need, in ascending order. */
  locksOf(rows: readonly WrittenRow[]): readonly number[] {
    const keys = new Set(rows.flatMap((written) => keyOf(written) ?? []));
    const locks = new Set([...keys].map(lockOf));
    return [...locks].toSorted((a, b) => a - b);
  }

  /** Rows that show different values because of these writes. */
  async findDependents(tx: Transaction, rows: readonly WrittenRow[]): Promise<readonly DependentRow[]> {
    const { subscriptions, invoices, payments } = this.#readers;
    const newSubscriptions = keysOf(rows.filter(({ table, isNew }) => table === 'subscriptions' && isNew));
    const changedInvoices = rows.filter(
      (written) => written.table === 'invoices' && isShownElsewhere(written),
    );
    const newInvoices = changedInvoices.filter(({ isNew }) => isNew);
    const billed = keysOf(changedInvoices);
    const paid = keysOf(newInvoices);
    const reads: Promise<readonly DependentRow[]>[] = [];
    const read = (table: string, found: Promise<readonly { readonly id: string }[]>) =>
      reads.push(found.then((all) => all.map((row) => ({ table, row }))));
    if (billed.length > 0) read('subscriptions', subscriptions.findByKeys(tx, billed));
    if (paid.length > 0) read('payments', payments.findOfInvoices(tx, paid, newInvoices.map(invoiceKeyOf)));
    if (newSubscriptions.length > 0) {
      read('invoices', invoices.findOfSubscriptions(tx, newSubscriptions));
      read('payments', payments.findOfSubscriptions(tx, newSubscriptions));
    }
    return (await Promise.all(reads)).flat();
  }
}

/** The processor's id of the subscription that a row belongs to. */
function keyOf({ table, row }: WrittenRow): string | undefined {
  if (!linkedTables.includes(table)) return undefined;
  return (row as LinkedRow).processorSubscriptionId ?? undefined;
}

function keysOf(rows: readonly WrittenRow[]): readonly string[] {
  return [...new Set(rows.flatMap((written) => keyOf(written) ?? []))];
}

function invoiceKeyOf({ row }: WrittenRow): string {
  return (row as Invoice).processorInvoiceId;
}

/** A subscription shows its latest invoice, the discount that it has used, and until when its invoices are paid. */
function isShownElsewhere({ row, before, isNew }: WrittenRow): boolean {
  if (isNew || before === undefined) return true;
  const [old, current] = [before as Invoice, row as Invoice];
  if (old.processorSubscriptionId !== current.processorSubscriptionId) return true;
  if (isUnpaid(old) !== isUnpaid(current)) return true;
  const isPaid = old.status === 'paid' || current.status === 'paid';
  return (
    isPaid && (old.status !== current.status || old.coversUntil?.getTime() !== current.coversUntil?.getTime())
  );
}

function isUnpaid({ status }: Invoice): boolean {
  return status === 'draft' || status === 'open';
}

function lockOf(key: string): number {
  let hash = 0;
  for (let index = 0; index < key.length; index += 1) hash = (hash * 31 + key.charCodeAt(index)) >>> 0;
  return hash % locksMax;
}
