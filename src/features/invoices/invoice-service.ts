import { requireFound } from '#core/errors.ts';
import type { Invoice } from '#core/model/invoice.ts';
import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import { SharedReads } from '#core/platform/shared-statement.ts';
import { decodeTextCursor, encodeTextCursor } from '#engine/mirrors/list-cursor.ts';
import { unknownCursor } from '#engine/mirrors/list-page.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import { objectMissing } from '#processor/port/attempt.ts';
import type { InvoiceLine } from '#processor/port/invoice-line.ts';
import type { PlanMirror } from '../plans/plan-mirror.ts';
import { InvoiceStore } from './invoice-store.ts';

/** A line with the plan of its price. Null if the price has none. */
export type PlannedLine = InvoiceLine & { readonly planId: string | null };

/** The processor creates and changes invoices; the API only shows them. */
export class InvoiceService {
  readonly #context: MirrorContext;
  readonly #store = new InvoiceStore();
  readonly #plans: Pick<PlanMirror, 'find'>;
  readonly #reads: SharedReads<Invoice>;

  constructor(context: MirrorContext, plans: Pick<PlanMirror, 'find'>) {
    this.#context = context;
    this.#plans = plans;
    this.#reads = new SharedReads((ids) => this.#store.find(context.database, ids));
  }

  async read(id: string): Promise<Invoice> {
    return requireFound('invoice', await this.#reads.read(id));
  }

  /** The lines of the invoice, as the processor shows them. */
  async listLines(
    id: string,
    { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
  ): Promise<{ readonly data: readonly PlannedLine[]; readonly nextCursor: string | null }> {
    const { database, processor } = this.#context;
    const { processorInvoiceId } = await this.read(id);
    const list = `lines of ${processorInvoiceId}`;
    const after = cursor === undefined ? null : decodeTextCursor(cursor, list);
    if (after === undefined) throw unknownCursor();
    const page = await processor.invoices.listLines({ processorInvoiceId, limit, after });
    if (page === null) throw objectMissing('invoice');
    const { lines, next } = page;
    const prices = lines.flatMap(({ processorPriceId }) => processorPriceId ?? []);
    const planned = await this.#plans.find(database, [...new Set(prices)]);
    return {
      data: lines.map((line) => ({ ...line, planId: planned.get(line.processorPriceId ?? '')?.id ?? null })),
      nextCursor: next === null ? null : encodeTextCursor(next, list),
    };
  }

  list(request: ListRequest): Promise<ListPage<Invoice>> {
    const { database } = this.#context;
    return database.read((db) => this.#store.list(db, request));
  }
}
