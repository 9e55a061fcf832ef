import { Failure } from '../errors.ts';
import type { ListPage, ListRequest } from '../mirrors/list-page.ts';
import type { Invoice } from '../model/invoice.ts';
import { isUuid } from '../platform/id.ts';
import type { Database } from '../platform/postgres.ts';
import { SharedReads } from '../platform/shared-statement.ts';
import type { InvoiceStore } from './invoice-store.ts';

interface InvoiceParts {
  readonly database: Database;
  readonly store: InvoiceStore;
}

/** The processor creates and changes invoices; the API only shows them. */
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

  list(request: ListRequest): Promise<ListPage<Invoice>> {
    return this.#parts.store.list(this.#parts.database, request);
  }
}
