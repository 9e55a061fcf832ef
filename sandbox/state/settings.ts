export type DeliveryMode = 'normal' | 'paused' | 'duplicate' | 'shuffle' | 'drop';

export interface Settings {
  readonly deliveryMode: DeliveryMode;
  /** What happens to a subscription when the last retry of a renewal payment fails. */
  readonly afterDunning: 'cancel' | 'unpaid';
  /** How long search takes to show a change. Journals from before it existed do not have it. */
  readonly searchLagSeconds?: number;
}

export const defaultSettings: Settings = {
  deliveryMode: 'normal',
  afterDunning: 'cancel',
  searchLagSeconds: 0,
};
