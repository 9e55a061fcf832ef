import { auditRetentionDays } from '#core/model/audit-entry.ts';
import { WeeksStore } from '#core/platform/weeks-store.ts';
import { DeliveryListStore } from '#engine/events/deliveries/delivery-list-store.ts';
import { deliveryWeeks } from '#engine/events/deliveries/delivery-store.ts';
import type { EndpointService } from '#engine/events/endpoints/endpoint-service.ts';
import { EventErasureStore } from '#engine/events/feed/event-erasure-store.ts';
import { EventStore, eventWeeks } from '#engine/events/feed/event-store.ts';
import type { Outbox } from '#engine/events/outbox/outbox.ts';
import { ClaimStore } from '#engine/idempotency/claim-store.ts';
import { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import { Sweeper } from '#engine/idempotency/sweeper.ts';
import type { CountedKind } from '#engine/overview/counted-kind.ts';
import { Backfills } from '#engine/sync/backfill.ts';
import { inOrder } from '#engine/sync/compared-list.ts';
import { EventApplier } from '#engine/sync/event-applier.ts';
import { Job } from '#engine/sync/job.ts';
import type { MirrorsBySubject } from '#engine/sync/mirrors-by-subject.ts';
import { Recovery } from '#engine/sync/recovery.ts';
import { RecoveryStore } from '#engine/sync/recovery-store.ts';
import { pausedBy, Worker } from '#engine/sync/worker.ts';
import { Erasure } from '#engine/webhooks/erasure.ts';
import { ErasureStore } from '#engine/webhooks/erasure-store.ts';
import { Inbox } from '#engine/webhooks/inbox.ts';
import { Retention } from '#engine/webhooks/retention.ts';
import { WebhookEventService } from '#engine/webhooks/webhook-event-service.ts';
import { WebhookEventStore } from '#engine/webhooks/webhook-event-store.ts';
import { CheckoutService } from '#features/checkouts/checkout-service.ts';
import { LostObjects } from '#features/checkouts/lost-objects.ts';
import { CustomerService } from '#features/customers/customer-service.ts';
import type { LostCustomers } from '#features/customers/lost-customers.ts';
import { erasedFields, features, imports, lists } from '#features/features.ts';
import { InvoiceService } from '#features/invoices/invoice-service.ts';
import type { Mirrors } from '#features/mirrors.ts';
import { PaymentMethodService } from '#features/payment-methods/payment-method-service.ts';
import { PaymentService } from '#features/payments/payment-service.ts';
import { RefundService } from '#features/payments/refund-service.ts';
import { PlanService } from '#features/plans/plan-service.ts';
import { PortalService } from '#features/portal/portal-service.ts';
import { EntitlementService } from '#features/subscriptions/entitlements/entitlement-service.ts';
import { SubscriptionService } from '#features/subscriptions/subscription-service.ts';
import { SubscriptionTurns } from '#features/subscriptions/turns/subscription-turns.ts';
import { TurnStore } from '#features/subscriptions/turns/turn-store.ts';
import { UsageDaysStore } from '#features/usage/usage-days-store.ts';
import { AuditLog } from '#operators/audit/audit-log.ts';
import { auditWeeks } from '#operators/audit/audit-store.ts';
import { Import } from '#operators/import/import.ts';
import { KeyService } from '#operators/keys/key-service.ts';
import { Resync, type ResyncedList } from '#operators/resync/resync.ts';
import { ResyncRunStore } from '#operators/resync/resync-run-store.ts';
import { ResyncRuns } from '#operators/resync/resync-runs.ts';
import { SearchService } from '#operators/search/search-service.ts';
import { eventSource, webhookEventSource } from '#operators/search/search-sources.ts';
import type { Processor } from '#processor/port/processor.ts';
import { contextOf, type ServiceContext, type ServiceInput } from './compose-context.ts';
import { composeEndpoints, composeEvents } from './compose-events.ts';
import { composeMirrors, composeStores, type Stores } from './compose-mirrors.ts';
import { composeOverview } from './compose-overview.ts';
import { composeUsage } from './compose-usage.ts';

/**
 * As long as the deadline of a processor call. Slower work may be taken over, which does no harm: see decision 0008.
 */
const leaseMs = 10_000;

export type Services = ReturnType<typeof composeServices>;

/** Wires up the domain. */
export function composeServices(input: ServiceInput) {
  const parts = contextOf(input);
  const claims = new ClaimStore(leaseMs, parts.installationId);
  const idempotency = new IdempotencyService({ ...parts, claims, waitMs: parts.claimWaitMs });
  const stores = composeStores();
  const { mirrors, lostCustomers } = composeMirrors(parts, stores);
  const turns = new SubscriptionTurns({
    ...parts,
    store: new TurnStore(),
    settle: (subscriptionId, exceptClaimId) => sweeper.settleOf(subscriptionId, exceptClaimId),
  });
  const domain = composeDomain({ ...parts, idempotency, turns }, stores, mirrors);
  const { entitlements } = domain;
  const report: Outbox['report'] = (tx, reported) => events.outbox.report(tx, reported);
  const usage = composeUsage(parts, idempotency, entitlements, { report });
  const context = { ...parts, stores, mirrors, ...domain, ...usage };
  const kinds = features.flatMap((feature) => feature.kinds?.(context) ?? []);
  const events = composeEvents(parts, stores, kinds);
  const endpoints = composeEndpoints(parts, idempotency);
  const { reportWork } = parts;
  const others = reportWork === undefined ? [] : [{ nudge: reportWork }];
  events.outbox.setListeners([events.eventFeed.tail, endpoints.dispatcher, ...others]);
  const sweeper = new Sweeper({ ...parts, claims }, [
    ...features.flatMap((feature) => feature.operations?.(context) ?? []),
    ...endpointOperations(endpoints.endpoints),
    domain.keys.creation,
  ]);
  const webhooks = composeWebhooks(context, lostCustomers);
  const accountImport = composeImport({ ...context, inbox: webhooks.inbox });
  const { webhookEvents, worker, resyncRuns } = webhooks;
  const overview = composeOverview(parts, countedKinds(context), webhookEvents);
  /** Updates the gauges. */
  const measure = async (): Promise<void> => {
    parts.metrics.setDatabaseUsage(parts.database.usage);
    parts.metrics.webhookQueueDepth.set(await webhookEvents.countPending());
    await endpoints.measureDeliveries();
  };
  /** Checks for work that another process has stored. */
  const nudge = (): void => {
    worker.nudge();
    endpoints.dispatcher.nudge();
  };
  /** Waits for work that continues after responses were sent: completing claims, and the worker if it was started. */
  const stop = async (): Promise<void> => {
    const working = [idempotency, worker, resyncRuns, events.eventFeed, endpoints.dispatcher];
    await Promise.all(working.map((part) => part.stop()));
  };
  return {
    ...domain,
    ...events,
    ...endpoints,
    ...usage,
    context,
    mirrors,
    idempotency,
    sweeper,
    ...webhooks,
    accountImport,
    ...overview,
    search: composeSearch(context),
    measure,
    nudge,
    stop,
  };
}

function endpointOperations({ creation, updating, rotation, replaying }: EndpointService) {
  return [creation, updating, rotation, replaying];
}

/** The services behind the API. */
function composeDomain(
  parts: ServiceContext & { readonly idempotency: IdempotencyService; readonly turns: SubscriptionTurns },
  stores: Stores,
  mirrors: Mirrors,
) {
  // A checkout ends in a subscription or a payment, and those may have to expire an open checkout.
  const openCheckouts = {
    isOpen: (id: string) => checkouts.isOpen(id),
    expireIfOpen: (id: string) => checkouts.expireIfOpen(id),
  };
  const customers = new CustomerService({
    ...parts,
    store: stores.customers,
    externalIds: stores.externalIds,
    mirror: mirrors.customers,
  });
  const plans = new PlanService({ ...parts, store: stores.plans, mirror: mirrors.plans });
  const lostObjects = new LostObjects(parts, mirrors, customers);
  const payments = new PaymentService({
    ...parts,
    store: stores.payments,
    mirror: mirrors.payments,
    customers,
    openCheckouts,
  });
  const refunds = new RefundService({
    ...parts,
    store: stores.refunds,
    mirror: mirrors.refunds,
    payments,
    paymentStore: stores.payments,
  });
  const subscriptions = new SubscriptionService({
    ...parts,
    store: stores.subscriptions,
    groups: stores.groups,
    mirror: mirrors.subscriptions,
    invoices: mirrors.invoices,
    lostCommits: lostObjects,
    customers,
    plans,
    openCheckouts,
  });
  const checkouts = new CheckoutService({
    ...parts,
    ...{ customers, plans, subscriptions },
    store: stores.checkouts,
    mirror: mirrors.checkouts,
    grouping: { groups: stores.groups, store: stores.subscriptions, plans, lostCommits: lostObjects },
  });
  const invoices = new InvoiceService(parts, mirrors.plans);
  const paymentMethods = new PaymentMethodService({ ...parts, customers, subscriptions });
  const portal = new PortalService(parts, customers, subscriptions, parts.returnUrlOrigins);
  const entitlements = new EntitlementService(parts, parts.processorClock, parts.entitlementGraceDays);
  const audit = new AuditLog(parts);
  const keys = new KeyService(parts, parts.idempotency, audit);
  const resources = { customers, plans, payments, refunds, subscriptions, invoices, checkouts };
  return { ...resources, lostObjects, paymentMethods, portal, entitlements, keys, audit };
}

type Domain = ReturnType<typeof composeDomain>;

/** What features may use. */
export interface FeatureContext extends ServiceContext, Domain, ReturnType<typeof composeUsage> {
  readonly stores: Stores;
  readonly mirrors: Mirrors;
}

function composeWebhooks(parts: FeatureContext, lostCustomers: LostCustomers) {
  const store = new WebhookEventStore();
  const { mirrors } = parts;
  const rules = features.flatMap((feature) => feature.rules?.(parts) ?? []);
  const subjects = mirrorsBySubject(parts);
  const eventApplier = new EventApplier(parts, store, subjects, rules);
  const worker = new Worker({ eventApplier: pausedBy(parts.door, eventApplier), logger: parts.logger });
  const onStored = () => {
    worker.nudge();
    parts.reportWork?.();
  };
  const inbox = new Inbox(parts, worker, onStored);
  parts.database.setAfterLateRows((rows) => inbox.bringBack(rows));
  const webhookEvents = new WebhookEventService(parts, onStored);
  const opened = openLists(parts);
  const resync = new Resync({
    ...parts,
    lists: opened,
    lostCustomers,
    countedLists: features.flatMap(({ countedLists = [] }) => countedLists),
  });
  const resyncRuns = new ResyncRuns({
    ...parts,
    job: new Job('resync', parts),
    store: new ResyncRunStore(),
    resync,
  });
  const recovery = new Recovery({
    ...parts,
    job: new Job('recovery', parts),
    store: new RecoveryStore(),
    inbox,
    staleMirrors: features.flatMap((feature) => feature.staleMirrors?.(parts) ?? []),
    resync: (pace) => resync.all(pace, pace),
  });
  const backfills = new Backfills(
    parts,
    opened.map(({ list }) => list),
    new Job('backfill', parts),
    parts.backfillStore,
  );
  const retention = new Retention(parts, parts.retentionDays, [
    { store: new WeeksStore(eventWeeks), days: parts.events.retentionDays },
    { store: new WeeksStore(deliveryWeeks), days: parts.events.retentionDays },
    { store: new WeeksStore(auditWeeks), days: auditRetentionDays },
    { store: new UsageDaysStore(), days: parts.usageRetentionDays },
  ]);
  const erasure = new Erasure({
    ...parts,
    customers: mirrors.customers,
    store: new ErasureStore(),
    events: new EventErasureStore(erasedFields),
    deliveries: new DeliveryListStore(),
    searched: features.flatMap(({ searched = [] }) => searched),
  });
  return {
    ...{ inbox, worker, eventApplier, webhookEvents },
    ...{ resync, resyncRuns, recovery, backfills, retention, erasure },
  };
}

/** An import works on the same rows, through mirrors that adopt every object. */
function composeImport(parts: FeatureContext & { readonly inbox: Inbox }): Import {
  const { processor: own } = parts;
  const processor: Processor = Object.assign({}, own, ...features.map(({ adopting }) => adopting?.(own)));
  const { mirrors } = composeMirrors({ ...parts, processor }, parts.stores);
  const context = { ...parts, processor, mirrors };
  return new Import(
    context,
    new Job('import', parts),
    context.inbox,
    inOrder(imports).map(([name, list]) => ({ name, open: (facts) => list.open(context, facts) })),
  );
}

function composeSearch(context: FeatureContext): SearchService {
  const found = features.flatMap(({ search }) => Object.values(search ?? {}));
  const sources = found.flatMap((sourcesOf) => sourcesOf(context));
  return new SearchService({
    database: context.database,
    sources: [...sources, eventSource(new EventStore())],
    ofOperators: webhookEventSource(new WebhookEventStore()),
    named: context.stores,
  });
}

/** The mirror of each subject of events. A test finds a subject without one. */
function mirrorsBySubject(context: FeatureContext): MirrorsBySubject {
  return Object.assign({}, ...features.map((feature) => feature.subjects?.(context)));
}

function countedKinds(context: FeatureContext): readonly CountedKind[] {
  return features.flatMap<CountedKind>((feature) => feature.counted?.(context) ?? []);
}

/** The lists of all features, for a resync. */
function openLists(context: FeatureContext): readonly ResyncedList[] {
  return inOrder(lists).map(([, list]) => ({
    ...list,
    list: list.open(context),
    count: (customerId) => list.count(context, customerId),
    unlisted: (scope) => list.unlisted?.(context, scope) ?? nothing(),
  }));
}

async function* nothing() {}
