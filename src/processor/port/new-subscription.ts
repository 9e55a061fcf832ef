import type { Metadata } from '../../model/metadata.ts';

export interface NewSubscription {
  readonly processorCustomerId: string;
  readonly processorPriceId: string;
  /** 1 if absent. */
  readonly quantity?: number;
  /** 0: no trial. */
  readonly trialPeriodDays: number;
  /** The processor's id of a payment method of the customer. It is charged at once, as if the customer were present. */
  readonly paymentMethodId?: string;
  /** The processor's id. */
  readonly processorPromotionCodeId?: string;
  /** What happens to a trial that ends without a payment method. If absent, it is billed. */
  readonly trialEndWithoutCard?: 'pause' | 'cancel';
  readonly metadata?: Metadata;
}
