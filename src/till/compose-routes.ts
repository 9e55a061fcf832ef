import type { FastifyInstance } from 'fastify';
import { registerAttentionRoutes } from '../attention/attention-routes.ts';
import { registerAuditRoutes } from '../audit/audit-routes.ts';
import { registerCheckoutRoutes } from '../checkouts/checkout-routes.ts';
import { registerCustomerRoutes } from '../customers/customer-routes.ts';
import { registerResendRoutes } from '../events/deliveries/resend-routes.ts';
import { registerEndpointRoutes } from '../events/endpoints/endpoint-routes.ts';
import { registerEventRoutes } from '../events/feed/event-routes.ts';
import type { StreamLimits } from '../events/feed/event-streams.ts';
import { registerInvoiceRoutes } from '../invoices/invoice-routes.ts';
import { registerCurrentKeyRoutes } from '../keys/current-key-routes.ts';
import { registerKeyRoutes } from '../keys/key-routes.ts';
import { registerOverviewRoutes } from '../overview/overview-routes.ts';
import { registerPaymentMethodRoutes } from '../payment-methods/payment-method-routes.ts';
import { registerCaptureRoutes } from '../payments/capture-routes.ts';
import { registerPaymentRoutes } from '../payments/payment-routes.ts';
import { registerPaymentUpdateRoutes } from '../payments/payment-update-routes.ts';
import { registerRefundRoutes } from '../payments/refund-routes.ts';
import { registerPlanRoutes } from '../plans/plan-routes.ts';
import type { PlatformParts } from '../platform/parts.ts';
import { registerPortalRoutes } from '../portal/portal-routes.ts';
import type { Processor } from '../processor/port/processor.ts';
import { registerResyncRoutes } from '../resync/resync-routes.ts';
import type { SandboxControl } from '../sandbox-control/sandbox-control.ts';
import { registerSandboxResetRoute } from '../sandbox-control/sandbox-reset-routes.ts';
import type { SandboxResets } from '../sandbox-control/sandbox-resets.ts';
import { registerSandboxRoutes } from '../sandbox-control/sandbox-routes.ts';
import { registerSearchRoutes } from '../search/search-routes.ts';
import { registerSubscriptionPreviewRoutes } from '../subscriptions/changes/subscription-preview-routes.ts';
import { registerSubscriptionUpdateRoutes } from '../subscriptions/changes/subscription-update-routes.ts';
import { registerEntitlementRoutes } from '../subscriptions/entitlements/entitlement-routes.ts';
import { registerSubscriptionPaymentRoutes } from '../subscriptions/paying/subscription-payment-routes.ts';
import { registerSubscriptionRoutes } from '../subscriptions/subscription-routes.ts';
import { registerMeterRoutes } from '../usage/meter-routes.ts';
import { registerUsageRoutes } from '../usage/usage-routes.ts';
import { registerWebhookEventRoutes } from '../webhooks/webhook-event-routes.ts';
import { registerWebhookRoutes } from '../webhooks/webhook-routes.ts';
import type { Services } from './compose-services.ts';

interface RouteParts extends Pick<PlatformParts, 'clock' | 'logger' | 'metrics'> {
  readonly processor: Processor;
  /** Undefined if the processor is not the sandbox. */
  readonly sandbox: SandboxControl | undefined;
  /** Undefined if the processor cannot be the sandbox. */
  readonly resets?: SandboxResets | undefined;
  readonly streamLimits?: Partial<StreamLimits> | undefined;
}

export async function registerRoutes(
  app: FastifyInstance,
  services: Services,
  parts: RouteParts,
): Promise<void> {
  const { customers, plans, payments, refunds, subscriptions, invoices, entitlements } = services;
  registerCustomerRoutes(app, {
    customers,
    expireCheckouts: (customerId) => services.checkouts.expireOfCustomer(customerId),
    correctSubscriptions: (customerId) => subscriptions.correctOfCustomer(customerId),
  });
  registerPaymentMethodRoutes(app, services.paymentMethods);
  registerPortalRoutes(app, services.portal);
  registerPlanRoutes(app, plans);
  registerPaymentRoutes(app, payments, customers);
  registerPaymentUpdateRoutes(app, payments);
  registerCaptureRoutes(app, payments);
  registerRefundRoutes(app, refunds, customers);
  registerSubscriptionRoutes(app, subscriptions, entitlements, customers);
  registerEntitlementRoutes(app, entitlements, subscriptions);
  registerSubscriptionUpdateRoutes(app, subscriptions, entitlements);
  registerSubscriptionPaymentRoutes(app, subscriptions, entitlements);
  registerSubscriptionPreviewRoutes(app, subscriptions);
  registerMeterRoutes(app, services.meters);
  registerUsageRoutes(app, services);
  registerInvoiceRoutes(app, invoices, customers);
  registerCheckoutRoutes(app, services.checkouts, customers);
  registerEventRoutes(app, {
    ...parts,
    customers,
    feed: services.eventFeed,
    limits: parts.streamLimits ?? {},
  });
  registerResendRoutes(app, services.events);
  registerEndpointRoutes(app, services.endpoints);
  registerWebhookEventRoutes(app, services.webhookEvents);
  registerCurrentKeyRoutes(app, parts.processor);
  registerResyncRoutes(app, services.resyncRuns);
  registerOverviewRoutes(app, services.overview, customers);
  registerAttentionRoutes(app, services.attention);
  registerSearchRoutes(app, services.search);
  registerKeyRoutes(app, services.keys);
  registerAuditRoutes(app, services.audit);
  const { sandbox } = parts;
  registerSandboxResetRoute(app, parts.resets);
  if (sandbox !== undefined) registerSandboxRoutes(app, { sandbox, payments });
  await registerWebhookRoutes(app, { ...parts, inbox: services.inbox });
}
