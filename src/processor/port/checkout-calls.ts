import type { CheckoutFacts, CheckoutNotice } from '#core/model/checkout.ts';
import type { Metadata } from '#core/model/metadata.ts';
import type { Attempt } from './attempt.ts';
import type { ListingStart, Pages } from './pages.ts';
import type { Creation, CustomerLookUp, KeyedWrite, Marked } from './request-mark.ts';

/** The URL of the page is separate from the facts, because it is passed on and never stored. Null unless open. */
export interface CheckoutWithUrl {
  readonly checkout: CheckoutFacts;
  readonly url: string | null;
}

export interface CheckoutCalls {
  create(checkout: NewCheckout): Promise<CheckoutWithUrl>;
  read(processorCheckoutSessionId: string): Promise<CheckoutWithUrl | null>;
  /** `wrong_state`: it is completed or expired, or a payment is in progress. */
  expire(order: KeyedWrite & { readonly processorCheckoutSessionId: string }): Promise<Attempt<null>>;
  find(lookUp: CustomerLookUp): Promise<Marked<CheckoutWithUrl> | null>;
  /** Lists the open checkouts. */
  list(
    filter: ListingStart & { readonly processorCustomerId?: string; readonly createdSince?: Date },
  ): Pages<CheckoutNotice>;
}

export interface NewCheckout extends Creation {
  /** The id of the resulting subscription or payment. */
  readonly resultId: string;
  readonly processorCustomerId: string;
  readonly terms: string;
  readonly sold: SoldSubscription | SoldPayment | SavedCard;
  readonly page: CheckoutPage;
  readonly metadata?: Metadata;
}

export interface SoldSubscription {
  readonly mode: 'subscription';
  /** The main plan comes first. */
  readonly items: readonly { readonly processorPriceId: string; readonly quantity: number }[];
  /** 0: no trial. */
  readonly trialPeriodDays: number;
  /** What happens to a trial that ends without a card. If absent, the page requires a card. */
  readonly trialEndWithoutCard?: 'invoice' | 'pause' | 'cancel';
  readonly processorPromotionCodeId?: string;
  readonly allowPromotionCodes?: true;
}

export interface SoldPayment {
  readonly mode: 'payment';
  readonly amount: number;
  readonly currency: string;
  /** The buyer sees it. */
  readonly description: string;
  readonly savePaymentMethod?: true;
  readonly captureMethod?: 'manual';
}

export interface SavedCard {
  readonly mode: 'setup';
}

/** How the page looks, what it collects, and where it leads. */
export interface CheckoutPage {
  readonly successUrl: string;
  readonly cancelUrl: string;
  /** If absent, after 24 hours. */
  readonly expiresAt?: Date;
  readonly locale?: string;
  readonly collectBillingAddress?: true;
  readonly collectTaxId?: true;
  readonly automaticTax?: true;
}
