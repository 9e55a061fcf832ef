import type { Metadata } from '../../model/metadata.ts';
import type { RequestMark } from './request-mark.ts';

export interface NewPayment {
  readonly processorCustomerId: string;
  readonly amount: number;
  readonly currency: string;
  readonly description?: string;
  readonly captureMethod?: 'manual';
  /** The processor's id. */
  readonly paymentMethodId?: string;
  /** Charges the payment method at once, without the customer. */
  readonly offSession?: true;
  /** Saves the payment method for later payments without the customer. */
  readonly savePaymentMethod?: true;
  readonly metadata?: Metadata;
}

export interface NewCapture {
  readonly mark: RequestMark;
  readonly processorPaymentIntentId: string;
  /** Null for the whole authorised amount. */
  readonly amount: number | null;
}
