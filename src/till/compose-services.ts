import type { FastifyInstance } from 'fastify';
import { registerCustomerRoutes } from '../customers/customer-routes.ts';
import { CustomerService } from '../customers/customer-service.ts';
import { CustomerStore } from '../customers/customer-store.ts';
import { LostCustomers } from '../customers/lost-customers.ts';
import type { Adoption } from '../idempotency/adoption.ts';
import type { Claim } from '../idempotency/claim.ts';
import { ClaimStore } from '../idempotency/claim-store.ts';
import type { CrashPoints } from '../idempotency/crash-points.ts';
import { IdempotencyService } from '../idempotency/idempotency-service.ts';
import { Sweeper } from '../idempotency/sweeper.ts';
import { registerInvoiceRoutes } from '../invoices/invoice-routes.ts';
import { InvoiceService } from '../invoices/invoice-service.ts';
import { InvoiceStore } from '../invoices/invoice-store.ts';
import { registerPaymentRoutes } from '../payments/payment-routes.ts';
import { PaymentService } from '../payments/payment-service.ts';
import { PaymentStore } from '../payments/payment-store.ts';
import { registerRefundRoutes } from '../payments/refund-routes.ts';
import { RefundService } from '../payments/refund-service.ts';
import { RefundStore } from '../payments/refund-store.ts';
import { registerPlanRoutes } from '../plans/plan-routes.ts';
import { PlanService } from '../plans/plan-service.ts';
import { PlanStore } from '../plans/plan-store.ts';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { OwnerLock } from '../platform/owner-lock.ts';
import type { Database } from '../platform/postgres.ts';
import type { Processor } from '../processor/processor.ts';
import { registerSubscriptionRoutes } from '../subscriptions/subscription-routes.ts';
import { SubscriptionService } from '../subscriptions/subscription-service.ts';
import { SubscriptionStore } from '../subscriptions/subscription-store.ts';
import { EventProcessor } from '../sync/event-processor.ts';
import { Recovery } from '../sync/recovery.ts';
import { RecoveryStore } from '../sync/recovery-store.ts';
import { Resync } from '../sync/resync.ts';
import { Worker } from '../sync/worker.ts';
import { Erasure } from '../webhooks/erasure.ts';
import { ErasureStore } from '../webhooks/erasure-store.ts';
import { customerEvents } from '../webhooks/families/customer-events.ts';
import { invoiceEvents } from '../webhooks/families/invoice-events.ts';
import { paymentEvents } from '../webhooks/families/payment-events.ts';
import { priceEvents, productEvents } from '../webhooks/families/plan-events.ts';
import { chargeEvents, refundEvents } from '../webhooks/families/refund-events.ts';
import { subscriptionEvents } from '../webhooks/families/subscription-events.ts';
import { Inbox } from '../webhooks/inbox.ts';
import { Retention } from '../webhooks/retention.ts';
import { RetentionStore } from '../webhooks/retention-store.ts';
import { registerWebhookEventRoutes } from '../webhooks/webhook-event-routes.ts';
import { WebhookEventService } from '../webhooks/webhook-event-service.ts';
import { WebhookEventStore } from '../webhooks/webhook-event-store.ts';
import { registerWebhookRoutes } from '../webhooks/webhook-routes.ts';

/** As long as the deadline of a processor call. Who takes longer may be overtaken, which does no harm: see decision 0007. */
const leaseMs = 10_000;

export interface ServiceParts {
  readonly database: Database;
  readonly ownerLock: OwnerLock;
  readonly processor: Processor;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoints: CrashPoints;
  readonly retentionDays: number;
}

export type Services = ReturnType<typeof composeServices>;

/** The domain, put together. */
export function composeServices(parts: ServiceParts) {
  const { database, logger } = parts;
  const claims = new ClaimStore(leaseMs);
  const idempotency = new IdempotencyService({ ...parts, claims });
  const shared = { ...parts, idempotency };
  const paymentStore = new PaymentStore();

  const customers = new CustomerService({
    ...shared,
    store: new CustomerStore(),
    onRecovered: (tx, recovered) => invoices.attach(tx, recovered),
  });
  const lostCustomers = new LostCustomers({ ...parts, customers });
  const plans = new PlanService({ ...shared, store: new PlanStore() });
  const payments = new PaymentService({ ...shared, store: paymentStore, customers, lostCustomers });
  const refunds = new RefundService({ ...shared, store: new RefundStore(), payments, paymentStore });
  const subscriptions = new SubscriptionService({
    ...shared,
    store: new SubscriptionStore(),
    customers,
    lostCustomers,
    plans,
  });
  const invoices = new InvoiceService({ ...shared, store: new InvoiceStore(), customers, lostCustomers });

  const adoptionOf = ({ operation, parentId }: Claim): Adoption<unknown, unknown> => {
    const adoptions = {
      'customers.create': () => customers.adoption(),
      'plans.create': () => plans.adoption(),
      'payments.create': () => payments.adoption(parentId ?? ''),
      'refunds.create': () => refunds.adoption(parentId ?? ''),
      'subscriptions.create': () => subscriptions.adoption(parentId ?? ''),
    };
    // Each adoption records what it found itself, so the types in between need not be known here.
    return adoptions[operation]() as Adoption<unknown, unknown>;
  };
  const sweeper = new Sweeper({ database, claims, adoptionOf, logger });
  const mirrors = { customers, lostCustomers, plans, payments, refunds, subscriptions, invoices };
  const webhooks = composeWebhooks({ ...parts, ...mirrors });
  /** Waits for the work that continues after responses: completing claims, and the worker if it was started. */
  const stop = async (): Promise<void> => {
    await Promise.all([idempotency.stop(), webhooks.worker.stop()]);
  };
  return { ...mirrors, idempotency, sweeper, ...webhooks, stop };
}

interface Mirrors {
  readonly customers: CustomerService;
  readonly lostCustomers: LostCustomers;
  readonly plans: PlanService;
  readonly payments: PaymentService;
  readonly refunds: RefundService;
  readonly subscriptions: SubscriptionService;
  readonly invoices: InvoiceService;
}

function composeWebhooks(parts: ServiceParts & Mirrors) {
  const store = new WebhookEventStore();
  // The order in which tables are locked, everywhere.
  const families = [
    customerEvents(parts.customers),
    productEvents(parts.plans),
    priceEvents(parts.plans),
    paymentEvents(parts.payments, parts.refunds),
    refundEvents(parts.refunds),
    chargeEvents(parts.refunds),
    subscriptionEvents(parts.subscriptions),
    invoiceEvents(parts.invoices),
  ];
  const onStored = () => worker.nudge();
  const inbox = new Inbox({ ...parts, store, onStored });
  const eventProcessor = new EventProcessor({ ...parts, inbox, families });
  const worker = new Worker({ processor: eventProcessor, logger: parts.logger });
  const webhookEvents = new WebhookEventService({ ...parts, store, onStored });
  const resync = new Resync(parts);
  const recovery = new Recovery({
    ...parts,
    store: new RecoveryStore(),
    inbox,
    resync: (afterEachPage) => resync.all(afterEachPage),
  });
  const retention = new Retention({ ...parts, store: new RetentionStore() });
  const erasure = new Erasure({ ...parts, store: new ErasureStore() });
  return { inbox, worker, eventProcessor, webhookEvents, resync, recovery, retention, erasure };
}

interface RouteParts {
  readonly processor: Processor;
  readonly clock: Clock;
}

export async function registerRoutes(
  app: FastifyInstance,
  services: Services,
  parts: RouteParts,
): Promise<void> {
  const { customers, plans, payments, refunds, subscriptions, invoices } = services;
  registerCustomerRoutes(app, {
    customers,
    correctSubscriptions: (customerId) => subscriptions.correctOfCustomer(customerId),
  });
  registerPlanRoutes(app, plans);
  registerPaymentRoutes(app, payments);
  registerRefundRoutes(app, refunds);
  registerSubscriptionRoutes(app, subscriptions);
  registerInvoiceRoutes(app, invoices);
  registerWebhookEventRoutes(app, services.webhookEvents);
  await registerWebhookRoutes(app, { ...parts, inbox: services.inbox });
}
