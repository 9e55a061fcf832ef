export type DeliveryMode = 'normal' | 'paused' | 'duplicate' | 'shuffle' | 'drop';

export interface Settings {
  readonly deliveryMode: DeliveryMode;
  /** What happens to a subscription when the last retry of a renewal payment fails. */
  readonly afterDunning: 'cancel' | 'unpaid';
}

export const defaultSettings: Settings = { deliveryMode: 'normal', afterDunning: 'cancel' };
