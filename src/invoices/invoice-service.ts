import type { Customer } from '../customers/customer.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import type { LostCustomers } from '../customers/lost-customers.ts';
import { Failure } from '../errors.ts';
import { rowTime } from '../mirrors/facts.ts';
import {
  type Applied,
  foldFacts,
  groupFacts,
  type Source,
  withoutRow,
  withRecovery,
} from '../mirrors/fold.ts';
import type { Page, PageRequest } from '../mirrors/list-page.ts';
import { ignoredAll, noRevisions, nothingApplied } from '../mirrors/refresh.ts';
import type { Clock } from '../platform/clock.ts';
import { derivedId, isOurId, isUuid } from '../platform/id.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import { SharedReads } from '../platform/shared-statement.ts';
import type { Processor } from '../processor/processor.ts';
import { type Invoice, type InvoiceFacts, takeInvoiceFacts } from './invoice.ts';
import type { InvoiceStore } from './invoice-store.ts';

interface InvoiceParts {
  readonly database: Database;
  readonly store: InvoiceStore;
  readonly customers: CustomerService;
  readonly lostCustomers: LostCustomers;
  readonly processor: Processor;
  readonly clock: Clock;
}

/** Invoices come from the processor alone; nobody makes or changes one here. */
export class InvoiceService {
  readonly #parts: InvoiceParts;
  readonly #reads: SharedReads<Invoice>;

  constructor(parts: InvoiceParts) {
    this.#parts = parts;
    this.#reads = new SharedReads((ids) => parts.store.find(parts.database, ids));
  }

  async read(id: string): Promise<Invoice> {
    const invoice = isUuid(id) ? await this.#reads.read(id) : undefined;
    if (invoice === undefined) throw new Failure('not_found', 'No invoice has this id. Check the id.');
    return invoice;
  }

  list(request: PageRequest, customerId: string | undefined): Promise<Page<Invoice>> {
    return this.#parts.store.list(this.#parts.database, request, customerId);
  }

  /** Reads the processor's present state into ours. */
  async refresh(processorInvoiceId: string): Promise<Applied> {
    const { database, store, processor, lostCustomers } = this.#parts;
    const [row] = await store.findByProcessorIds(database, [processorInvoiceId]);
    const facts = await processor.invoices.read(processorInvoiceId);
    if (facts === null) return row === undefined ? ignoredAll(processorInvoiceId) : nothingApplied;
    const { processorCustomerId } = facts;
    if (processorCustomerId !== null && isOurs(facts))
      await lostCustomers.recover(processorCustomerId, facts);
    const revisions = row === undefined ? noRevisions : new Map([[processorInvoiceId, row.revision]]);
    return database.transaction((tx) => this.#apply(tx, [facts], revisions, false));
  }

  /**
   * Takes in what the processor says, of strangers' invoices too. One of a subscription that Till made waits for its customer,
   * if that has no row.
   */
  async apply(tx: Transaction, facts: readonly InvoiceFacts[], source: Source): Promise<Applied> {
    return this.#apply(tx, facts, source, true);
  }

  /** Invoices that were stored before their customer was known get it now. */
  async attach(tx: Transaction, customers: readonly Customer[]): Promise<void> {
    await this.#parts.store.attach(tx, customers, this.#parts.clock.now());
  }

  async #apply(
    tx: Transaction,
    facts: readonly InvoiceFacts[],
    source: Source,
    waitsForCustomers: boolean,
  ): Promise<Applied> {
    const { store, customers, clock } = this.#parts;
    const groups = groupFacts(facts, keyOf);
    const ownerIds = facts.flatMap(({ processorCustomerId }) => processorCustomerId ?? []);
    const [owners, known] = await Promise.all([
      customers.findByProcessorIds(tx, ownerIds),
      store.lockByProcessorIds(tx, [...groups.keys()]),
    ]);
    const customerIdOf = ({ processorCustomerId }: InvoiceFacts) =>
      owners.get(processorCustomerId ?? '')?.id ?? null;
    const isLost = (one: InvoiceFacts) => waitsForCustomers && isOurs(one) && customerIdOf(one) === null;
    const lost = new Set(facts.filter(isLost).map(keyOf));
    const now = clock.now();
    const unknown = withoutRow(groups, known, keyOf).filter((first) => !lost.has(keyOf(first)));
    await store.insert(
      tx,
      unknown.map((first) => toInvoice(first, customerIdOf(first), now)),
    );
    const { written, applied } = foldFacts({
      rows: unknown.length === 0 ? known : await store.lockByProcessorIds(tx, [...groups.keys()]),
      groups,
      source,
      keyOf,
      take: (invoice, next: InvoiceFacts, origin) =>
        takeInvoiceFacts(invoice, next, customerIdOf(next), origin, now),
    });
    store.update(
      tx,
      written.map(({ after }) => after),
    );
    return withRecovery(applied, { made: unknown.map(keyOf), lost: [...lost] });
  }
}

function toInvoice(facts: InvoiceFacts, customerId: string | null, now: Date): Invoice {
  const { processorInvoiceId, processorCustomerId, processorSubscriptionId, amountDue, amountPaid } = facts;
  return {
    id: derivedId('invoice', processorInvoiceId, facts.createdAt),
    processorInvoiceId,
    customerId,
    processorCustomerId,
    processorSubscriptionId,
    amountDue,
    amountPaid,
    currency: facts.currency,
    status: facts.status,
    hostedInvoiceUrl: facts.hostedInvoiceUrl,
    ...rowTime(facts.asOf),
    createdAt: facts.createdAt,
    updatedAt: now,
    revision: 0,
  };
}

/** Whether it names a customer and bills a subscription that carries a Till id. */
function isOurs({ subscriptionLocalId, processorCustomerId }: InvoiceFacts): boolean {
  return isOurId(subscriptionLocalId) && processorCustomerId !== null;
}

function keyOf({ processorInvoiceId }: { readonly processorInvoiceId: string }): string {
  return processorInvoiceId;
}
