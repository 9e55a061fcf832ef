/** Of invoice facts: those of an event that shows none of these details. */
export const unknownDetails = {
  number: null,
  amountRemaining: null,
  attemptCount: null,
  periodStart: null,
  periodEnd: null,
  invoicePdfUrl: null,
};
