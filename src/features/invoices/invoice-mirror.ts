import type { Customer } from '#core/model/customer.ts';
import { type Applied, rowTime, type Source, type Take } from '#core/model/facts.ts';
import {
  firstValuesOfInvoice,
  type Invoice,
  type InvoiceFacts,
  takeInvoiceFacts,
} from '#core/model/invoice.ts';
import { derivedId, isOurId } from '#core/platform/id.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { applyToRows, lockRows, withRecovery } from '#engine/mirrors/apply-facts.ts';
import type { Mirror, MirrorContext } from '#engine/mirrors/mirror.ts';
import { findOrRefresh, ignoredAll, nothingApplied, revisionsOf } from '#engine/mirrors/refresh.ts';
import type { CustomerMirror } from '../customers/customer-mirror.ts';
import type { LostCustomers } from '../customers/lost-customers.ts';
import { invoiceView } from './invoice-fields.ts';
import { InvoiceStore } from './invoice-store.ts';

/** Mirrors all invoices of the account, including those of customers that do not belong to Till. */
export class InvoiceMirror implements Mirror<InvoiceFacts> {
  readonly resource = 'invoice';
  readonly #context: MirrorContext;
  readonly #store = new InvoiceStore();
  readonly #customers: CustomerMirror;
  readonly #lostCustomers: LostCustomers;

  constructor(context: MirrorContext, customers: CustomerMirror, lostCustomers: LostCustomers) {
    this.#context = context;
    this.#customers = customers;
    this.#lostCustomers = lostCustomers;
  }

  keyOf({ processorInvoiceId }: Pick<InvoiceFacts, 'processorInvoiceId'>): string {
    return processorInvoiceId;
  }

  /** An invoice of a Till subscription is lost if its customer has no row, unless a refresh has looked for it. */
  async apply(
    tx: Transaction,
    facts: readonly InvoiceFacts[],
    source: Source,
    { canBeLost = true } = {},
  ): Promise<Applied> {
    const { clock } = this.#context;
    const { keyOf } = this;
    const customerKeys = facts.map(({ processorCustomerId }) => processorCustomerId);
    const [owners, rows] = await Promise.all([
      this.#customers.find(tx, customerKeys),
      lockRows<Invoice, InvoiceFacts>(tx, this.#store, facts, keyOf),
    ]);
    const customerIdOf = ({ processorCustomerId }: InvoiceFacts) =>
      owners.get(processorCustomerId)?.id ?? null;
    const isLost = (one: InvoiceFacts) => canBeLost && isOurs(one) && customerIdOf(one) === null;
    const lost = new Set(facts.filter(isLost).map(keyOf));
    const now = clock.now();
    const created = rows.unknown
      .filter((first) => !lost.has(keyOf(first)))
      .map((first) => toInvoice(first, customerIdOf(first), now));
    await this.#store.insert(tx, created);
    const inserted = created.length === 0 ? undefined : { created, lost: [] };
    const take: Take<Invoice, InvoiceFacts> = (invoice, next, origin, at) =>
      takeInvoiceFacts(invoice, next, customerIdOf(next), origin, at);
    const { applied } = await applyToRows(tx, this.#store, {
      rows,
      inserted,
      source,
      keyOf,
      take,
      view: invoiceView,
      now,
    });
    return withRecovery(applied, { lost: [...lost] });
  }

  async refresh(key: string): Promise<Applied> {
    const { database, processor } = this.#context;
    const [row] = await this.#store.findByKeys(database, [key]);
    const facts = await processor.invoices.read(key);
    if (facts === null) return row === undefined ? ignoredAll(key) : nothingApplied;
    if (isOurs(facts)) await this.#lostCustomers.recover(facts);
    return database.transaction((tx) => this.apply(tx, [facts], revisionsOf(key, row), { canBeLost: false }));
  }

  /** The row, which is created first if it is missing. Undefined if the processor does not know the invoice. */
  findOrRefresh(key: string): Promise<Invoice | undefined> {
    const find = () => this.findByKeys(this.#context.database, [key]);
    return findOrRefresh(find, () => this.refresh(key));
  }

  findByKeys(db: Queryable, keys: readonly string[]): Promise<readonly Invoice[]> {
    return this.#store.findByKeys(db, keys);
  }

  /** The number of invoices whose customer has no row. */
  countUnattached(): Promise<number> {
    return this.#store.countUnattached(this.#context.database);
  }

  /** The row with this id of Till. */
  async find(id: string): Promise<Invoice | undefined> {
    const { database } = this.#context;
    return (await this.#store.find(database, [id]))[0];
  }

  /** Applies the processor's state of these invoices, and returns their rows in the same order. */
  async record(facts: readonly InvoiceFacts[]): Promise<readonly Invoice[]> {
    if (facts.length === 0) return [];
    const { database } = this.#context;
    await database.transaction((tx) => this.apply(tx, facts, 'events'));
    const keys = facts.map(this.keyOf);
    const rows = new Map((await this.#store.findByKeys(database, keys)).map((row) => [this.keyOf(row), row]));
    return keys.flatMap((key) => rows.get(key) ?? []);
  }

  /** Sets the customer of invoices that were stored before their customer was recovered. */
  async attach(tx: Transaction, customers: readonly Customer[]): Promise<void> {
    await this.#store.attach(tx, customers, this.#context.clock.now());
  }
}

function toInvoice(facts: InvoiceFacts, customerId: string | null, now: Date): Invoice {
  const { processorInvoiceId, createdAt } = facts;
  return {
    id: derivedId('invoice', processorInvoiceId, createdAt),
    processorInvoiceId,
    customerId,
    subscriptionId: null,
    ...firstValuesOfInvoice(facts),
    ...rowTime(facts.asOf),
    createdAt,
    updatedAt: now,
    revision: 0,
  };
}

/** Whether the invoice has a customer and bills a Till subscription. */
function isOurs({ subscriptionLocalId, processorCustomerId }: InvoiceFacts): boolean {
  return isOurId(subscriptionLocalId) && processorCustomerId !== null;
}
