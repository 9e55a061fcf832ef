import type { CustomerService } from '../customers/customer-service.ts';
import { Failure } from '../errors.ts';
import { nothingApplied } from '../mirrors/ask.ts';
import { type Applied, foldFacts, groupFacts, type Source, withoutRow } from '../mirrors/fold.ts';
import type { Page, PageRequest } from '../mirrors/list-page.ts';
import type { Clock } from '../platform/clock.ts';
import { isUuid, newId } from '../platform/id.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import { SharedReads } from '../platform/shared-statement.ts';
import type { Processor } from '../processor/processor.ts';
import type { InvoiceFacts } from '../processor/processor-facts.ts';
import { type Invoice, takeInvoiceFacts } from './invoice.ts';
import type { InvoiceStore } from './invoice-store.ts';

interface InvoiceParts {
  readonly database: Database;
  readonly store: InvoiceStore;
  readonly customers: CustomerService;
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
    if (invoice === undefined) throw new Failure('not_found', 'No invoice has this id.');
    return invoice;
  }

  list(request: PageRequest, customerId: string | undefined): Promise<Page<Invoice>> {
    return this.#parts.store.list(this.#parts.database, request, customerId);
  }

  /** Reads the processor's present state into ours. */
  async ask(processorInvoiceId: string): Promise<Applied> {
    const { database, store, processor } = this.#parts;
    const [row] = await store.findByProcessorIds(database, [processorInvoiceId]);
    const facts = row && (await processor.invoices.read(processorInvoiceId));
    if (!row || !facts) return nothingApplied;
    return database.transaction((tx) =>
      this.apply(tx, [facts], new Map([[processorInvoiceId, row.revision]])),
    );
  }

  /** Takes in what the processor says, of strangers' invoices too. */
  async apply(tx: Transaction, facts: readonly InvoiceFacts[], source: Source): Promise<Applied> {
    const { store, customers, clock } = this.#parts;
    const groups = groupFacts(facts, keyOf);
    const ownerIds = facts.flatMap(({ processorCustomerId }) => processorCustomerId ?? []);
    const [owners, known] = await Promise.all([
      customers.findByProcessorIds(tx, ownerIds),
      store.lockByProcessorIds(tx, [...groups.keys()]),
    ]);
    const customerIdOf = ({ processorCustomerId }: InvoiceFacts) =>
      owners.get(processorCustomerId ?? '')?.id ?? null;
    const now = clock.now();
    const unknown = withoutRow(groups, known, keyOf);
    await store.insert(
      tx,
      unknown.map((first) => toInvoice(first, customerIdOf(first), now)),
    );
    const { written, applied } = foldFacts({
      rows: unknown.length === 0 ? known : await store.lockByProcessorIds(tx, [...groups.keys()]),
      groups,
      source,
      keyOf,
      take: (invoice, next: InvoiceFacts, standing) =>
        takeInvoiceFacts(invoice, next, customerIdOf(next), standing, now),
    });
    store.update(
      tx,
      written.map(({ after }) => after),
    );
    return applied;
  }
}

function toInvoice(facts: InvoiceFacts, customerId: string | null, now: Date): Invoice {
  const { processorInvoiceId, processorCustomerId, processorSubscriptionId, amountDue, amountPaid } = facts;
  return {
    id: newId(now),
    processorInvoiceId,
    customerId,
    processorCustomerId,
    processorSubscriptionId,
    amountDue,
    amountPaid,
    currency: facts.currency,
    status: facts.status,
    hostedInvoiceUrl: facts.hostedInvoiceUrl,
    processorAsOf: facts.asOf,
    createdAt: facts.createdAt,
    updatedAt: now,
    revision: 0,
  };
}

function keyOf({ processorInvoiceId }: { readonly processorInvoiceId: string }): string {
  return processorInvoiceId;
}
