/** Additional fields of some codes. */
export interface ProblemFields {
  /** Every mistake of an invalid request. */
  readonly errors?: readonly Mistake[];
  /** The customer that the problem is about, if the request does not name it. */
  readonly customerId?: string;
  /** The subscription that the problem is about, if the request does not name it. Null if it is not known yet. */
  readonly subscriptionId?: string | null;
  /** The payment that the problem is about, if the request does not name it. */
  readonly paymentId?: string | null;
  /** The checkout that the problem is about. */
  readonly checkoutId?: string;
  /** Why the card was declined, in the processor's words. Null if it does not say. */
  readonly declineCode?: string | null;
  /** The processor's error code, when it rejected the caller's values. */
  readonly processorCode?: string;
}

export interface Mistake {
  /** The path of the mistake: `body.amount`, `query.page`, `header.idempotency-key`. */
  readonly path: string;
  readonly message: string;
}
