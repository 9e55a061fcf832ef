export type DeliveryMode = 'normal' | 'paused' | 'duplicate' | 'shuffle' | 'drop';

export interface Settings {
  readonly deliveryMode: DeliveryMode;
  /** What happens to a subscription when the last retry of a renewal payment fails. */
  readonly afterDunning: 'cancel' | 'pause' | 'unpaid';
  /** What happens to it when the first attempt fails. Older journals do not have it. */
  readonly firstFailure?: 'past_due' | 'pause';
  /** How a subscription that was paused after a failure continues when its invoice is paid. */
  readonly resumption?: 'keep_anchor' | 'manual' | 'reset_anchor';
  /**
   * What a voided invoice does with the discounts that it has used up: they stay used, the coupon and the code can be
   * redeemed once more, or their owner has them again. Older journals do not have it.
   */
  readonly voidedDiscounts?: 'used' | 'redeemable' | 'returned';
  /** How long search takes to show a change. Older journals do not have it. */
  readonly searchLagSeconds?: number;
  /** The seed of the processor's manners. Null or absent if the sandbox has none. */
  readonly mannersSeed?: number | null;
  /** The account's country, its default currency, and the API version of clients that name none. */
  readonly country?: string;
  readonly currency?: string;
  readonly apiVersion?: string | null;
  /** Whether the payment page waits for the webhook endpoint before it redirects. Older journals do not have it. */
  readonly checkoutWaits?: boolean;
  /** When the world was last reset, in real time. Absent if it never was. */
  readonly lastResetMs?: number;
}

export const defaultSettings: Settings = {
  deliveryMode: 'normal',
  afterDunning: 'cancel',
  firstFailure: 'past_due',
  resumption: 'manual',
  voidedDiscounts: 'used',
  searchLagSeconds: 0,
  checkoutWaits: true,
};
