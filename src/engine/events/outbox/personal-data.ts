/** What the API shows in place of the personal data of a deleted customer. */
export const erasedCustomer = { email: '', name: null, phone: null, externalId: null, metadata: {} };

/** The same for objects that belong to the customer. */
export const erasedBelonging = { metadata: {} };
export const erasedSubscription = { ...erasedBelonging, cancellationReason: null };

export const personalFields = Object.keys(erasedCustomer);
export const belongingFields = Object.keys(erasedBelonging);
export const subscriptionFields = Object.keys(erasedSubscription);
