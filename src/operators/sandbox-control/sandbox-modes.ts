/** How the sandbox delivers webhooks. */
export const deliveryModes = ['normal', 'paused', 'duplicate', 'shuffle', 'drop'] as const;

/** What a fault does to a request of Till. */
export const faultKinds = ['error', 'latency', 'hang', 'reset_before', 'reset_after'] as const;
