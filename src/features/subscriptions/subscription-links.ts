import type { Invoice } from '#core/model/invoice.ts';
import type { Payment } from '#core/model/payment.ts';
import type { Subscription } from '#core/model/subscription.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { isChanged, type WrittenRow } from '#core/platform/written-rows.ts';
import type { RowLinks } from '#engine/events/outbox/outbox.ts';

/** Few enough that a large batch does not fill the server's lock table, and enough that batches rarely collide. */
const locksMax = 256;

type Keys = readonly string[];

interface LinkReaders {
  readonly subscriptions: {
    findOwn(tx: Transaction, keys: Keys): Promise<readonly Subscription[]>;
    findIds(tx: Transaction, keys: Keys): Promise<readonly LinkedId[]>;
    findPaidUntil(
      tx: Transaction,
      ids: readonly string[],
    ): Promise<readonly Pick<Subscription, 'id' | 'paidUntil'>[]>;
  };
  readonly invoices: {
    findIds(tx: Transaction, keys: Keys): Promise<readonly (LinkedId & LinkedInvoice)[]>;
    findOfSubscriptions(tx: Transaction, keys: Keys): Promise<readonly Invoice[]>;
  };
  readonly payments: {
    findOfSubscriptions(tx: Transaction, keys: Keys): Promise<readonly Payment[]>;
    findOfInvoices(tx: Transaction, subscriptionKeys: Keys, invoiceKeys: Keys): Promise<readonly Payment[]>;
  };
}

/** The processor's id of an object, and Till's. */
interface LinkedId {
  readonly key: string;
  readonly id: string;
}

/** The values of an invoice that other rows show. */
type LinkedInvoice = Pick<Invoice, 'id' | 'status' | 'processorSubscriptionId'>;

/** Rows whose values other rows show, by the processor's ids. */
interface Links {
  readonly invoices: ReadonlyMap<string, LinkedInvoice>;
  readonly subscriptions: ReadonlyMap<string, string>;
  /** The paid ends of subscriptions that are `past_due`, by their ids. Others do not need it. */
  readonly paidUntil: ReadonlyMap<string, Date | null>;
}

type LinkedTable = 'subscriptions' | 'invoices' | 'payments';

interface LinkedRows {
  readonly subscriptions: Subscription;
  readonly invoices: Invoice;
  readonly payments: Payment;
}

/**
 * Subscriptions, their invoices and their payments show ids of each other, and a subscription also shows whether it is
 * paid. These values are looked up when a row is read, because transactions that do not see each other may write the
 * rows in any order. So a transaction that writes one of these rows locks the subscription before it commits. While it
 * holds the lock, other transactions have written events for everything that they committed. So a row previously showed
 * what it would show without this transaction. A row shows only an invoice of the same subscription, because the lock
 * covers no others.
 */
export class SubscriptionLinks implements RowLinks {
  readonly #readers: LinkReaders;

  constructor(readers: LinkReaders) {
    this.#readers = readers;
  }

  /** The numbers of the locks that these rows need, in ascending order. */
  locksOf(rows: readonly WrittenRow[]): readonly number[] {
    const locks = new Set(keysOf(rows).map(lockOf));
    return [...locks].toSorted((a, b) => a - b);
  }

  /**
   * The written rows, and the rows that show different values because of them. Each has the values of other rows that
   * it showed before and shows now. The subscriptions must be locked. Looks everything up before it waits for the
   * writes, so that all of it takes one round trip.
   */
  async complete(tx: Transaction): Promise<readonly WrittenRow[]> {
    const rows = tx.written.all();
    const written = rows.filter(isChanged);
    const [dependents, links] = await Promise.all([
      this.#findDependents(tx, rows),
      this.#findLinks(tx, written),
    ]);
    const known = new Set(written.map(({ row }) => row.id));
    const others = [...new Map(dependents.map((one) => [one.row.id, one])).values()].filter(
      ({ row }) => !known.has(row.id),
    );
    const after = others.length === 0 ? links : merge(links, await this.#findLinks(tx, others));
    const before = withoutWrites(after, written);
    const stored = (await tx.written.stored()).filter(isChanged);
    return [...stored, ...others].map((one) => ({
      ...one,
      before: one.before && withLinks(one.table, one.before, before),
      row: withLinks(one.table, one.row, after),
    }));
  }

  /** Rows that show different values because of these writes, or because time has passed. */
  async #findDependents(tx: Transaction, rows: readonly WrittenRow[]): Promise<readonly WrittenRow[]> {
    const { subscriptions, invoices, payments } = this.#readers;
    const newSubscriptions = keysOf(only('subscriptions', rows).filter(isNew));
    const changedInvoices = only('invoices', rows).filter(isShownElsewhere);
    const newInvoices = changedInvoices.filter((one) => isNew(one) || isOfOther(one));
    const billed = keysOf([...changedInvoices, ...rows.filter((one) => !isChanged(one))]);
    const paid = keysOf(newInvoices);
    const reads: Promise<readonly WrittenRow[]>[] = [];
    const read = (table: LinkedTable, found: Promise<readonly { readonly id: string }[]>) =>
      reads.push(found.then((all) => all.map((row) => ({ table, row, before: row, isUnchanged: true }))));
    if (billed.length > 0) read('subscriptions', subscriptions.findOwn(tx, billed));
    if (paid.length > 0) read('payments', payments.findOfInvoices(tx, paid, newInvoices.map(invoiceKeyOf)));
    if (newSubscriptions.length > 0) {
      read('invoices', invoices.findOfSubscriptions(tx, newSubscriptions));
      read('payments', payments.findOfSubscriptions(tx, newSubscriptions));
    }
    return (await Promise.all(reads)).flat();
  }

  async #findLinks(tx: Transaction, rows: readonly WrittenRow[]): Promise<Links> {
    const invoiceKeys = new Set(versionsOf(rows).flatMap(linkedInvoices));
    const subscriptionKeys = new Set(versionsOf(rows).flatMap(linkedSubscriptions));
    const pastDue = only('subscriptions', rows).flatMap(({ row }) =>
      (row as Subscription).status === 'past_due' ? [row.id] : [],
    );
    const [invoices, subscriptions, paid] = await Promise.all([
      invoiceKeys.size === 0 ? [] : this.#readers.invoices.findIds(tx, [...invoiceKeys]),
      subscriptionKeys.size === 0 ? [] : this.#readers.subscriptions.findIds(tx, [...subscriptionKeys]),
      pastDue.length === 0 ? [] : this.#readers.subscriptions.findPaidUntil(tx, pastDue),
    ]);
    return {
      invoices: new Map(invoices.map((invoice) => [invoice.key, invoice])),
      subscriptions: new Map(subscriptions.map(({ key, id }) => [key, id])),
      paidUntil: new Map(paid.map(({ id, paidUntil }) => [id, paidUntil])),
    };
  }
}

/** A row with the values of other rows that it shows. */
function withLinks<Row extends { readonly id: string }>(
  table: string,
  row: Row,
  { invoices, subscriptions, paidUntil }: Links,
): Row {
  // The table names the type of the row.
  const linked = row as unknown as LinkedRows[LinkedTable];
  const invoiceOf = (key: string | null | undefined) => {
    const invoice = invoices.get(key ?? '');
    return invoice?.processorSubscriptionId === linked.processorSubscriptionId ? invoice : undefined;
  };
  const subscriptionId = subscriptions.get(linked.processorSubscriptionId ?? '') ?? null;
  if (table === 'subscriptions') {
    const { processorLatestInvoiceId, discount } = linked as Subscription;
    const usedBy = invoiceOf(discount?.usedBy);
    const isOver = usedBy !== undefined && !isUnpaid(usedBy);
    const latestInvoiceId = invoiceOf(processorLatestInvoiceId)?.id ?? null;
    const terms = { latestInvoiceId, paidUntil: paidUntil.get(row.id) ?? null };
    return { ...row, ...terms, ...(isOver && { discount: null }) };
  }
  if (table === 'invoices') return { ...row, subscriptionId };
  if (table !== 'payments') return row;
  const invoiceId = invoiceOf((linked as Payment).processorInvoiceId)?.id ?? null;
  return { ...row, invoiceId, subscriptionId };
}

function linkedInvoices({ table, row }: Version): readonly string[] {
  if (table === 'payments') return present((row as Payment).processorInvoiceId);
  if (table !== 'subscriptions') return [];
  const { processorLatestInvoiceId, discount } = row as Subscription;
  return present(processorLatestInvoiceId, discount?.usedBy);
}

function linkedSubscriptions({ table, row }: Version): readonly string[] {
  if (table !== 'payments' && table !== 'invoices') return [];
  return present((row as Payment | Invoice).processorSubscriptionId);
}

/** The links as they are without the writes of this transaction. */
function withoutWrites({ invoices, subscriptions, paidUntil }: Links, rows: readonly WrittenRow[]): Links {
  const written = new Map(
    only('invoices', rows).map((one) => [invoiceKeyOf(one), one.before as Invoice | undefined]),
  );
  const created = new Set(keysOf(only('subscriptions', rows).filter(isNew)));
  return {
    invoices: new Map(
      [...invoices].flatMap(([key, invoice]) => {
        const before = written.has(key) ? written.get(key) : invoice;
        return before === undefined ? [] : [[key, before]];
      }),
    ),
    subscriptions: new Map([...subscriptions].filter(([key]) => !created.has(key))),
    paidUntil,
  };
}

function merge(some: Links, others: Links): Links {
  return {
    invoices: new Map([...some.invoices, ...others.invoices]),
    subscriptions: new Map([...some.subscriptions, ...others.subscriptions]),
    paidUntil: new Map([...some.paidUntil, ...others.paidUntil]),
  };
}

/** A row before or after a write. */
interface Version {
  readonly table: string;
  readonly row: object;
}

function versionsOf(rows: readonly WrittenRow[]): readonly Version[] {
  return rows.flatMap(({ table, row, before }) =>
    before === undefined || before === row
      ? [{ table, row }]
      : [
          { table, row },
          { table, row: before },
        ],
  );
}

/** The processor's ids of the subscriptions that rows belong to, or belonged to. */
function keysOf(rows: readonly WrittenRow[]): readonly string[] {
  const ofSubscription = (table: string) =>
    table === 'subscriptions' || table === 'invoices' || table === 'payments';
  const keys = versionsOf(rows).flatMap(({ table, row }) =>
    ofSubscription(table) ? present((row as LinkedRows[LinkedTable]).processorSubscriptionId) : [],
  );
  return [...new Set(keys)];
}

function only(table: LinkedTable, rows: readonly WrittenRow[]): readonly WrittenRow[] {
  return rows.filter((one) => one.table === table);
}

function isNew({ before }: WrittenRow): boolean {
  return before === undefined;
}

function invoiceKeyOf({ row }: WrittenRow): string {
  return (row as Invoice).processorInvoiceId;
}

/** A subscription shows its latest invoice, the discount that it has used, and until when its invoices are paid. */
function isShownElsewhere({ row, before }: WrittenRow): boolean {
  if (before === undefined) return true;
  if (isOfOther({ row, before })) return true;
  const [old, current] = [before as Invoice, row as Invoice];
  if (isUnpaid(old) !== isUnpaid(current)) return true;
  const isPaid = old.status === 'paid' || current.status === 'paid';
  return (
    isPaid && (old.status !== current.status || old.coversUntil?.getTime() !== current.coversUntil?.getTime())
  );
}

/** Whether an invoice belongs to another subscription than before. */
function isOfOther({ row, before }: Pick<WrittenRow, 'row' | 'before'>): boolean {
  const [old, current] = [before as Invoice | undefined, row as Invoice];
  return old?.processorSubscriptionId !== current.processorSubscriptionId;
}

function isUnpaid({ status }: Pick<Invoice, 'status'>): boolean {
  return status === 'draft' || status === 'open';
}

function present(...keys: readonly (string | null | undefined)[]): readonly string[] {
  return keys.filter((key) => key !== null && key !== undefined);
}

function lockOf(key: string): number {
  let hash = 0;
  for (let index = 0; index < key.length; index += 1) hash = (hash * 31 + key.charCodeAt(index)) >>> 0;
  return hash % locksMax;
}
