import type { Attempt } from './attempt.ts';

/** A charge or a credit that waits for an invoice, or that an invoice bills. */
export interface InvoiceItem {
  readonly processorInvoiceItemId: string;
  readonly processorCustomerId: string;
  /** Only invoices of this subscription bill the item. Null if any invoice of the customer does. */
  readonly processorSubscriptionId: string | null;
  /** Negative for a credit. */
  readonly amount: number;
  readonly currency: string;
  readonly description: string | null;
  readonly discountable: boolean;
  readonly periodStart: Date;
  readonly periodEnd: Date;
  readonly taxRateIds: readonly string[];
  /** Without the marks below. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Marked as an item that waited for an invoice. An item that restores another one needs no mark. */
  readonly waited: boolean;
  /** The processor's id of the item whose invoice was voided, and that this item bills again. */
  readonly restores: string | null;
}

/** The calls about items that wait for the next invoice, such as prorations. Lists start with the newest. */
export interface InvoiceItemCalls {
  /** The items of a customer that no invoice bills yet. */
  listWaiting(processorCustomerId: string): Promise<readonly InvoiceItem[]>;
  listOfInvoice(processorInvoiceId: string): Promise<readonly InvoiceItem[]>;
  /** The items of a customer that were created since then. */
  listSince(of: {
    readonly processorCustomerId: string;
    readonly since: Date;
  }): Promise<readonly InvoiceItem[]>;
  /** Marks an item that waits. `wrong_state` if an invoice bills it meanwhile. */
  markWaiting(order: {
    readonly processorInvoiceItemId: string;
    readonly idempotencyKey: string;
  }): Promise<Attempt<null>>;
  /** Creates an item that waits for the next invoice and bills the same as the given one. */
  restore(item: InvoiceItem & { readonly idempotencyKey: string }): Promise<Attempt<null>>;
}
