export type { CustomerView as Customer } from '../../../src/customers/customer-view.ts';
export type {
  DeliveryAnswer as Delivery,
  EndpointAnswer as EventEndpoint,
} from '../../../src/events/endpoints/endpoint-schema.ts';
export type { InvoiceView as Invoice } from '../../../src/invoices/invoice-view.ts';
export type { Scope } from '../../../src/model/api-key.ts';
export type { OverviewAnswer as Overview } from '../../../src/overview/overview-schema.ts';
export type { PaymentView as Payment } from '../../../src/payments/payment-view.ts';
export type { RefundView as Refund } from '../../../src/payments/refund-view.ts';
export type { PlanView as Plan } from '../../../src/plans/plan-view.ts';
export type { SubscriptionView as Subscription } from '../../../src/subscriptions/subscription-view.ts';
export type { ResyncAnswer as Resync } from '../../../src/sync/resync-routes.ts';
export type {
  WebhookEventAnswer as WebhookEvent,
  WebhookEventWithPayloadAnswer as WebhookEventWithPayload,
} from '../../../src/webhooks/webhook-event-routes.ts';

import type { EventObjectType, EventType } from '../../../src/events/event.ts';
import type { Scope } from '../../../src/model/api-key.ts';
import type { EntitlementReason } from '../../../src/model/entitlement.ts';
import type { Cause } from '../../../src/platform/cause.ts';
import type { SubscriptionView as Subscription } from '../../../src/subscriptions/subscription-view.ts';

/** The key that signed in. */
export interface CurrentKey {
  /** Null for a key from the environment. */
  readonly id: string | null;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly processor: { readonly mode: 'sandbox' | 'test' | 'live'; readonly dashboardUrl: string | null };
}

/** One page of a list. */
export interface Page<Row> {
  readonly data: readonly Row[];
  /** Undefined for a list that has page numbers instead. */
  readonly nextCursor?: string | null;
  readonly total?: number;
  readonly totalCapped?: boolean;
}

/** A change, as the feed and the stream show it. */
export interface TillEvent {
  readonly id: string;
  readonly type: EventType;
  readonly createdAt: string;
  readonly objectType: EventObjectType;
  readonly objectId: string;
  readonly customerId: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly previous: Readonly<Record<string, unknown>>;
  readonly cause: Cause;
}

/** What a customer may use, and why. */
export interface Entitlements {
  readonly entitled: boolean;
  readonly until: string | null;
  readonly features: Readonly<Record<string, boolean | number | string>>;
  readonly subscriptions: readonly Entitlement[];
}

/** Whether one subscription entitles its customer. */
export interface Entitlement {
  readonly subscriptionId: string;
  readonly planId: string;
  readonly status: Subscription['status'];
  readonly entitled: boolean;
  readonly reason: EntitlementReason;
  readonly until: string | null;
}

/** A saved card or another payment method. */
export interface PaymentMethod {
  readonly id: string;
  readonly type: string;
  readonly brand: string | null;
  readonly last4: string | null;
  readonly expMonth: number | null;
  readonly expYear: number | null;
  readonly isDefault: boolean;
  readonly createdAt: string;
}

/** The invoice that will contain a change of a subscription. */
export interface ChangePreview {
  readonly amountDue: number;
  readonly currency: string;
  readonly billedNow: boolean;
  readonly prorationDate: string | null;
  readonly lines: readonly {
    readonly description: string | null;
    readonly amount: number;
    readonly periodStart: string;
    readonly periodEnd: string;
    readonly proration: boolean;
  }[];
}

/** A subscription after a change. With a secret, the customer has to authenticate first. */
export interface ChangedSubscription {
  readonly subscription: Subscription;
  readonly clientSecret: string | null;
}
