import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { version } from './version.ts';

/** From half a millisecond, the time of a read, to 30 s, the limit of every request. */
const requestBucketsSeconds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
/** A healthy worker applies an event within milliseconds; an hour means a retry by the processor, a day an outage. */
const lagBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30, 300, 3_600, 86_400];

/** Up to the largest batch of a worker. */
const batchBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500];

export type Metrics = ReturnType<typeof createMetrics>;

interface MetricLabels {
  readonly eventTypes: readonly string[];
  readonly mirrors: readonly string[];
}

/** Gauges of the library whose names end like those of counters. The same metrics by type remain. */
const misnamedGauges = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/**
 * Every metric of the service, in its own registry. Counters whose labels are known in advance exist, at 0, from the
 * first scrape: a counter that appears only with its first failure hides that failure from `increase()`. A histogram has
 * eighteen lines for each combination of labels, so that one is written only after it has occurred.
 */
export function createMetrics(labels: MetricLabels) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamedGauges) registry.removeSingleMetric(name);
  return {
    registry,
    ...createWebhookMetrics([registry], labels),
    ...createPaymentMetrics([registry]),
    ...createDeliveryMetrics([registry]),
    ...createUsageMetrics([registry]),
    ...createRequestMetrics([registry]),
    ...createReplicaMetrics([registry]),
    ...createDatabaseMetrics([registry]),
    ...createProcessMetrics([registry]),
  };
}

function createWebhookMetrics(registers: Registry[], labels: MetricLabels) {
  const counterByType = (name: string, help: string) => {
    const counter = new Counter({ name, help, labelNames: ['type'], registers });
    for (const type of labels.eventTypes) counter.inc({ type }, 0);
    return counter;
  };
  const mirrorDrift = new Counter({
    name: 'mirror_drift_total',
    help: 'Corrections to local mirrors made by recovery',
    labelNames: ['resource'],
    registers,
  });
  for (const resource of labels.mirrors) mirrorDrift.inc({ resource }, 0);
  const backfilledObjects = new Counter({
    name: 'backfilled_objects_total',
    help: 'Objects of the processor that were read again after an upgrade, to complete their rows',
    labelNames: ['resource'],
    registers,
  });
  for (const resource of labels.mirrors) backfilledObjects.inc({ resource }, 0);
  const known = new Set(labels.eventTypes);
  return {
    /** Unknown types share one label, so that a sender cannot create an unlimited number of series. */
    eventTypeLabel: (type: string) => (known.has(type) ? type : 'other'),
    webhookEventsReceived: counterByType(
      'webhook_events_received_total',
      'Webhook events received and stored',
    ),
    webhookEventsProcessed: counterByType(
      'webhook_events_processed_total',
      'Webhook events applied to the mirrors',
    ),
    webhookEventsFailed: counterByType('webhook_events_failed_total', 'Webhook events that failed for good'),
    webhookEventsIgnored: counterByType(
      'webhook_events_ignored_total',
      'Webhook events that change no mirror',
    ),
    webhookEventsDuplicate: new Counter({
      name: 'webhook_events_duplicate_total',
      help: 'Duplicate webhook events discarded',
      registers,
    }),
    webhookQueueDepth: new Gauge({
      name: 'webhook_queue_depth',
      help: 'Webhook events stored and not yet applied or failed, counted at scrape time, up to 100,000',
      aggregator: 'first',
      registers,
    }),
    webhookBatchSize: new Histogram({
      name: 'webhook_batch_size',
      help: 'How many webhook events a transaction stores or applies together',
      buckets: batchBuckets,
      registers,
    }),
    webhookLag: new Histogram({
      name: 'webhook_lag_seconds',
      help: 'Time from receiving a webhook event to applying it',
      buckets: lagBucketsSeconds,
      registers,
    }),
    mirrorDrift,
    backfilledObjects,
  };
}

function createPaymentMetrics(registers: Registry[]) {
  const checkouts = new Counter({
    name: 'checkouts_total',
    help: 'Checkouts that were created, completed by the buyer, or expired, each counted once',
    labelNames: ['mode', 'outcome'],
    registers,
  });
  for (const mode of ['subscription', 'payment', 'setup'])
    for (const outcome of ['created', 'completed', 'expired']) checkouts.inc({ mode, outcome }, 0);
  return {
    checkouts,
    paymentsSucceeded: new Counter({
      name: 'payments_succeeded_total',
      help: 'Payments that succeeded, each counted once',
      registers,
    }),
    paymentsFailed: new Counter({
      name: 'payments_failed_total',
      help: 'Failed payment attempts',
      registers,
    }),
    paymentsDisputed: new Counter({
      name: 'payments_disputed_total',
      help: 'Payments that were disputed, each counted once',
      registers,
    }),
  };
}

function createDeliveryMetrics(registers: Registry[]) {
  const eventDeliveries = new Counter({
    name: 'event_deliveries_total',
    help: 'Attempts to deliver events to endpoints: succeeded, to be retried, or failed for good',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['succeeded', 'retried', 'failed']) eventDeliveries.inc({ outcome }, 0);
  return {
    eventDeliveries,
    eventDeliveryAge: new Gauge({
      name: 'event_delivery_oldest_seconds',
      help: 'The age of the oldest event that an enabled endpoint has not received, at scrape time',
      aggregator: 'first',
      registers,
    }),
  };
}

function createProcessMetrics(registers: Registry[]) {
  return {
    processesServing: new Gauge({
      name: 'processes_serving',
      help: 'Processes that serve requests, of those that PROCESSES sets',
      aggregator: 'first',
      registers,
    }),
    processesRestarted: new Counter({
      name: 'processes_restarted_total',
      help: 'Processes that were restarted because they had ended unexpectedly',
      aggregator: 'first',
      registers,
    }),
  };
}

function createDatabaseMetrics(registers: Registry[]) {
  const connections = new Gauge({
    name: 'database_connections',
    help: 'Connections of the pool, at scrape time',
    labelNames: ['state'],
    registers,
  });
  const waiting = new Gauge({
    name: 'database_waiting',
    help: 'Statements and transactions that wait for a connection of the pool, at scrape time',
    registers,
  });
  const statements = new Counter({
    name: 'database_statements_total',
    help: 'Statements sent to PostgreSQL. Busy requests share statements, so that there are fewer for each request',
    registers,
  });
  const buildInfo = new Gauge({
    name: 'till_build_info',
    help: 'Always 1. The labels say which versions of Till and Node run',
    labelNames: ['version', 'node'],
    registers,
    aggregator: 'first',
  });
  buildInfo.set({ version, node: process.versions.node }, 1);
  let counted = 0;
  return {
    setDatabaseUsage: (usage: DatabaseUsage) => {
      for (const state of ['busy', 'idle'] as const) connections.set({ state }, usage[state]);
      waiting.set(usage.waiting);
      statements.inc(usage.statements - counted);
      counted = usage.statements;
    },
  };
}

export interface DatabaseUsage {
  readonly busy: number;
  readonly idle: number;
  readonly waiting: number;
  readonly statements: number;
}

function createUsageMetrics(registers: Registry[]) {
  const usageEvents = new Counter({
    name: 'usage_events_total',
    help: 'Usage events that were recorded, were recorded before, or were rejected',
    labelNames: ['result'],
    registers,
  });
  for (const result of ['recorded', 'duplicate', 'rejected']) usageEvents.inc({ result }, 0);
  const usageConsumptions = new Counter({
    name: 'usage_consumptions_total',
    help: 'Requests to consume usage that were allowed or refused',
    labelNames: ['result'],
    registers,
  });
  for (const result of ['allowed', 'refused']) usageConsumptions.inc({ result }, 0);
  return { usageEvents, usageConsumptions };
}

function createRequestMetrics(registers: Registry[]) {
  const httpRequestsShed = new Counter({
    name: 'http_requests_shed_total',
    help: 'HTTP requests shed on arrival because the process was overloaded',
    labelNames: ['kind'],
    registers,
  });
  for (const kind of ['webhooks', 'others', 'event_readers']) httpRequestsShed.inc({ kind }, 0);
  return {
    httpRequestsShed,
    rateLimitsShared: new Gauge({
      name: 'rate_limits_shared',
      help: '1 while the processes count requests together, 0 while each counts alone because it has no Redis',
      aggregator: 'first',
      registers,
    }),
    eventStreams: new Gauge({
      name: 'event_streams',
      help: 'Open streams of events',
      registers,
    }),
    httpRequestDuration: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'HTTP requests, by method, route and status',
      labelNames: ['method', 'route', 'status'],
      buckets: requestBucketsSeconds,
      registers,
    }),
    processorRequestDuration: new Histogram({
      name: 'processor_request_duration_seconds',
      help: 'Calls to the processor, by operation and outcome, including retries',
      labelNames: ['operation', 'outcome'],
      buckets: requestBucketsSeconds,
      registers,
    }),
  };
}

function createReplicaMetrics(registers: Registry[]) {
  const databaseReads = new Counter({
    name: 'database_reads_total',
    help: 'Reads that a replica may serve (lists, exports, searches, overviews), by the server that served them',
    labelNames: ['target'],
    registers,
  });
  const replicaFallbacks = new Counter({
    name: 'replica_fallbacks_total',
    help: 'Reads with a position that the primary served instead of the replica, by reason',
    labelNames: ['reason'],
    registers,
  });
  for (const target of ['primary', 'replica']) databaseReads.inc({ target }, 0);
  for (const reason of ['unavailable', 'lag', 'position', 'history', 'failed'])
    replicaFallbacks.inc({ reason }, 0);
  return {
    databaseReads,
    replicaFallbacks,
    replicaLag: new Gauge({
      name: 'replica_lag_seconds',
      help: 'How far the replica is behind the primary; it grows while the replica cannot be reached',
      registers,
    }),
  };
}
