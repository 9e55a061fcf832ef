/** What facts and rows say of a subscription that was never canceled, discounted or changed. */
export const plainSubscription = {
  trialEnd: null,
  cancelAtPeriodEnd: false,
  cancelAt: null,
  canceledAt: null,
  endedAt: null,
  processorLatestInvoiceId: null,
  defaultPaymentMethodId: null,
  discount: null,
  pendingChange: null,
} as const;
