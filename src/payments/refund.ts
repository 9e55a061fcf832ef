export const refundStatuses = ['pending', 'requires_action', 'succeeded', 'failed', 'canceled'] as const;

export type RefundStatus = (typeof refundStatuses)[number];

/** Why money was given back, as a caller may say it. */
export const refundReasons = ['duplicate', 'fraudulent', 'requested_by_customer'] as const;

export type RefundReason = (typeof refundReasons)[number];
