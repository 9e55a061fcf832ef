import { asOfRow, type Facts, laterOf, rowTime } from '../mirrors/facts.ts';
import { judge, type Origin, type TransitionTable, type Verdict } from '../mirrors/transition.ts';

export const invoiceStatuses = ['draft', 'open', 'paid', 'uncollectible', 'void'] as const;

export type InvoiceStatus = (typeof invoiceStatuses)[number];

export interface Invoice {
  readonly id: string;
  readonly processorInvoiceId: string;
  /** Null when the processor's customer is none of ours. */
  readonly customerId: string | null;
  readonly processorCustomerId: string | null;
  readonly processorSubscriptionId: string | null;
  readonly amountDue: number;
  readonly amountPaid: number;
  readonly currency: string;
  readonly status: InvoiceStatus;
  readonly hostedInvoiceUrl: string | null;
  readonly processorAsOf: Date;
  readonly processorAsOfLatest: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Rises with every change of the row. */
  readonly revision: number;
}

export interface InvoiceFacts extends Facts {
  readonly processorInvoiceId: string;
  readonly processorCustomerId: string | null;
  readonly processorSubscriptionId: string | null;
  /** Our id of the subscription that it bills, from the metadata that the processor copies into the invoice. */
  readonly subscriptionLocalId: string | null;
  readonly amountDue: number;
  readonly amountPaid: number;
  readonly currency: string;
  readonly status: InvoiceStatus;
  readonly hostedInvoiceUrl: string | null;
}

const open = {
  draft: 'if newer',
  open: 'if newer',
  uncollectible: 'always',
  paid: 'always',
  void: 'always',
} as const;

const final = {
  draft: 'never',
  open: 'never',
  uncollectible: 'never',
  paid: 'never',
  void: 'never',
} as const;

/** From what stands (rows) to what arrives (columns). Uncollectible is final until it is paid or voided after all. */
export const invoiceTransitions: TransitionTable<InvoiceStatus> = {
  draft: open,
  open: open,
  uncollectible: { draft: 'never', open: 'never', uncollectible: 'if newer', paid: 'always', void: 'always' },
  paid: { ...final, paid: 'if newer' },
  void: { ...final, void: 'if newer' },
};

/** What an invoice becomes when the processor says this of it. */
export function takeInvoiceFacts(
  invoice: Invoice,
  facts: InvoiceFacts,
  customerId: string | null,
  origin: Origin,
  now: Date,
): { readonly verdict: Verdict; readonly row: Invoice } {
  const isSameOwner = facts.processorCustomerId === invoice.processorCustomerId;
  const values = {
    // It may have been given to a recovered customer after `customerId` was looked up.
    customerId: customerId ?? (isSameOwner ? invoice.customerId : null),
    processorCustomerId: facts.processorCustomerId,
    processorSubscriptionId: facts.processorSubscriptionId,
    amountDue: facts.amountDue,
    amountPaid: facts.amountPaid,
    currency: facts.currency,
    status: facts.status,
    hostedInvoiceUrl: facts.hostedInvoiceUrl,
  };
  const before: Readonly<Record<string, unknown>> = { ...invoice };
  const isSame = Object.entries(values).every(([name, value]) => before[name] === value);
  const verdict = judge({
    rule: invoiceTransitions[invoice.status][facts.status],
    origin,
    isSame,
    rowAsOf: asOfRow(invoice),
    factsAsOf: facts.asOf,
  });
  return {
    verdict,
    row: {
      ...invoice,
      ...values,
      ...rowTime(laterOf(asOfRow(invoice), facts.asOf)),
      updatedAt: isSame ? invoice.updatedAt : now,
    },
  };
}
