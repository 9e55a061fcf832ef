export interface InvoiceLinePage {
  readonly lines: readonly InvoiceLine[];
  /** The line after which the next page starts. Null on the last page. */
  readonly next: string | null;
}

/** What an invoice bills for one price, or one item that was added to it. */
export interface InvoiceLine {
  readonly description: string | null;
  /** Null if the line has no price of its own. */
  readonly processorPriceId: string | null;
  /** Null if usage decides what is billed. */
  readonly quantity: number | null;
  readonly amount: number;
  readonly currency: string;
  readonly periodStart: Date;
  readonly periodEnd: Date;
  /** The line credits or charges a part of a period. */
  readonly proration: boolean;
}
