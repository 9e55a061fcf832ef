import type { Invoice } from '#core/model/invoice.ts';

export type InvoiceView = ReturnType<typeof invoiceView>;

/** An invoice as the API shows it. */
export function invoiceView(invoice: Invoice) {
  return {
    id: invoice.id,
    processorInvoiceId: invoice.processorInvoiceId,
    customerId: invoice.customerId,
    processorCustomerId: invoice.processorCustomerId,
    processorSubscriptionId: invoice.processorSubscriptionId,
    subscriptionId: invoice.subscriptionId,
    number: invoice.number,
    amountDue: invoice.amountDue,
    amountPaid: invoice.amountPaid,
    amountRemaining: invoice.amountRemaining,
    currency: invoice.currency,
    status: invoice.status,
    attemptCount: invoice.attemptCount,
    nextPaymentAttemptAt: invoice.nextPaymentAttemptAt?.toISOString() ?? null,
    periodStart: invoice.periodStart?.toISOString() ?? null,
    periodEnd: invoice.periodEnd?.toISOString() ?? null,
    hostedInvoiceUrl: invoice.hostedInvoiceUrl,
    invoicePdfUrl: invoice.invoicePdfUrl,
    createdAt: invoice.createdAt.toISOString(),
    updatedAt: invoice.updatedAt.toISOString(),
  };
}
