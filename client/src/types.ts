import type { QueryOf } from './operation-types.ts';
import type { components } from './schema.ts';

/** The objects of the API under their own names. All of them come from Till's OpenAPI document. */
type Schemas = components['schemas'];
type Without<Body> = Omit<Body, 'idempotencyKey'>;

export type ApiKey = Schemas['ApiKey'];
export type ApiKeyList = Schemas['ApiKeyList'];
export type CreatedApiKey = Schemas['CreatedApiKey'];
export type CurrentApiKey = Schemas['CurrentApiKey'];
export type NewApiKey = Without<Schemas['NewApiKey']>;

export type AuditEntry = Schemas['AuditEntry'];
export type AuditLog = Schemas['AuditLog'];
export type AuditLogQuery = QueryOf<'/api/v1/audit-log'>;

export type Customer = Schemas['Customer'];
export type CustomerList = Schemas['CustomerList'];
export type NewCustomer = Without<Schemas['NewCustomer']>;
export type CustomerChange = Without<Schemas['CustomerChange']>;
export type CustomerQuery = QueryOf<'/api/v1/customers'>;

export type PaymentMethod = Schemas['PaymentMethod'];
export type CreatedPaymentMethod = Schemas['CreatedPaymentMethod'];
export type NewPaymentMethod = Without<Schemas['NewPaymentMethod']>;

export type PortalSession = Schemas['PortalSession'];
export type NewPortalSession = Schemas['NewPortalSession'];

export type Plan = Schemas['Plan'];
export type NewPlan = Without<Schemas['NewPlan']>;
export type PlanChange = Without<Schemas['PlanChange']>;
export type PlanQuery = QueryOf<'/api/v1/plans'>;

export type Meter = Schemas['Meter'];
export type MeterList = Schemas['MeterList'];
export type NewMeter = Without<Schemas['NewMeter']>;
export type MeterChange = Without<Schemas['MeterChange']>;

export type UsageBatch = Schemas['UsageBatch'];
export type NewUsageEvent = Schemas['NewUsageEvent'];
export type RecordedUsage = Schemas['RecordedUsage'];
export type UsageConsumption = Schemas['UsageConsumption'];
export type ConsumedUsage = Schemas['ConsumedUsage'];
export type UsageTotals = Schemas['UsageTotals'];
export type MeterUsage = Schemas['MeterUsage'];
export type UsageTotalsQuery = QueryOf<'/api/v1/usage'>;
export type UsageEvent = Schemas['UsageEvent'];
export type UsageEventList = Schemas['UsageEventList'];
export type UsageEventQuery = QueryOf<'/api/v1/usage/events'>;

export type Checkout = Schemas['Checkout'];
export type CheckoutList = Schemas['CheckoutList'];
export type OpenedCheckout = Schemas['OpenedCheckout'];
export type NewCheckout = Without<Schemas['NewCheckout']>;
export type CheckoutQuery = QueryOf<'/api/v1/checkouts'>;
export type CheckoutGetQuery = QueryOf<'/api/v1/checkouts/{id}'>;

export type Payment = Schemas['Payment'];
export type PaymentList = Schemas['PaymentList'];
export type CreatedPayment = Schemas['CreatedPayment'];
export type NewPayment = Without<Schemas['NewPayment']>;
export type PaymentChange = Without<Schemas['PaymentChange']>;
export type NewCapture = Without<Schemas['NewCapture']>;
export type PaymentQuery = QueryOf<'/api/v1/payments'>;
export type ClientSecret = Schemas['ClientSecret'];

export type Refund = Schemas['Refund'];
export type RefundList = Schemas['RefundList'];
export type RefundedPayment = Schemas['RefundedPayment'];
export type NewRefund = Without<Schemas['NewRefund']>;
export type RefundQuery = QueryOf<'/api/v1/refunds'>;
export type PaymentRefundQuery = QueryOf<'/api/v1/payments/{id}/refunds'>;

export type Subscription = Schemas['Subscription'];
export type SubscriptionList = Schemas['SubscriptionList'];
export type CreatedSubscription = Schemas['CreatedSubscription'];
export type ChangedSubscription = Schemas['ChangedSubscription'];
export type NewSubscription = Without<Schemas['NewSubscription']>;
export type SubscriptionChange = Without<Schemas['SubscriptionChange']>;
export type SubscriptionCancellation = Schemas['SubscriptionCancellation'];
export type PreviewedSubscriptionChange = Without<Schemas['PreviewedSubscriptionChange']>;
export type SubscriptionChangePreview = Schemas['SubscriptionChangePreview'];
export type PaidSubscription = Schemas['PaidSubscription'];
export type SubscriptionPayment = Without<Schemas['SubscriptionPayment']>;
export type SubscriptionQuery = QueryOf<'/api/v1/subscriptions'>;

export type Invoice = Schemas['Invoice'];
export type InvoiceList = Schemas['InvoiceList'];
export type InvoiceQuery = QueryOf<'/api/v1/invoices'>;
export type InvoiceLine = Schemas['InvoiceLine'];
export type InvoiceLineList = Schemas['InvoiceLineList'];

/** What one object can include. */
export type IncludeQuery = QueryOf<'/api/v1/payments/{id}'>;
export type CustomerSummary = Schemas['CustomerSummary'];

export type Entitlement = Schemas['Entitlement'];
export type Entitlements = Schemas['Entitlements'];

export type EventEndpoint = Schemas['EventEndpoint'];
export type EventEndpointList = Schemas['EventEndpointList'];
export type EventEndpointWithSecret = Schemas['EventEndpointWithSecret'];
export type NewEventEndpoint = Without<Schemas['NewEventEndpoint']>;
export type EventEndpointChange = Without<Schemas['EventEndpointChange']>;
export type EventSecretRotation = Without<Schemas['EventSecretRotation']>;
export type EventReplay = Without<Schemas['EventReplay']>;
export type EventDelivery = Schemas['EventDelivery'];
export type EventDeliveryList = Schemas['EventDeliveryList'];
export type DeliveryQuery = QueryOf<'/api/v1/event-endpoints/{id}/deliveries'>;
export type EventResend = Schemas['EventResend'];
export type ResentEvent = Schemas['ResentEvent'];
export type ResentEvents = Schemas['ResentEvents'];
export type CursorQuery = QueryOf<'/api/v1/event-endpoints'>;

export type WebhookEvent = Schemas['WebhookEvent'];
export type WebhookEventList = Schemas['WebhookEventList'];
export type WebhookEventWithPayload = Schemas['WebhookEventWithPayload'];
export type WebhookEventQuery = QueryOf<'/api/v1/webhook-events'>;
export type ReplayedWebhookEvents = Schemas['ReplayedWebhookEvents'];

export type Resync = Schemas['Resync'];
export type SandboxReset = Schemas['SandboxReset'];
export type NewResync = Without<Schemas['NewResync']>;

export type Attention = Schemas['Attention'];
export type Overview = Schemas['Overview'];
export type OverviewQuery = QueryOf<'/api/v1/overview'>;
export type OverviewMove = Schemas['OverviewMove'];
export type OverviewMoveList = Schemas['OverviewMoveList'];
export type OverviewMoveQuery = QueryOf<'/api/v1/overview/moves'>;
export type OverviewSubscriber = Schemas['OverviewSubscriber'];
export type OverviewSubscriberList = Schemas['OverviewSubscriberList'];
export type OverviewSubscriberQuery = QueryOf<'/api/v1/overview/subscribers'>;
export type SearchResult = Schemas['SearchResult'];
export type Health = Schemas['Health'];
export type Liveness = Schemas['Liveness'];
export type Readiness = Schemas['Readiness'];
