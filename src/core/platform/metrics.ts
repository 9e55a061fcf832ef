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

/** Gauges of the library whose names end like those of counters. The same metrics by type stay. */
const misnamedGauges = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/**
 * Every metric of the service, in its own registry. Counters whose labels are known in advance exist, at 0, from the
 * first scrape: a counter that appears only with its first failure hides that failure from `increase()`. A histogram
 * has eighteen lines for each combination of labels, so that one is written only after it has occurred.
 */
export function createMetrics(labels: MetricLabels) {
  const registry = Registry.merge([registryOfNode()]);
  const create = new MetricFactory(registry);
  return {
    registry,
    ...createWebhookMetrics(create, labels),
    ...createPaymentMetrics(create),
    ...createDeliveryMetrics(create),
    ...createUsageMetrics(create),
    ...createRequestMetrics(create),
    ...createPaceMetrics(create),
    ...createReplicaMetrics(create),
    ...createDatabaseMetrics(create),
    ...createProcessMetrics(create),
  };
}

let sharedRegistry: Registry | undefined;

/**
 * The metrics of Node, once for all services of a process: the library never stops the timer and the observer that it
 * starts.
 */
function registryOfNode(): Registry {
  if (sharedRegistry === undefined) {
    sharedRegistry = new Registry();
    collectDefaultMetrics({ register: sharedRegistry });
    for (const name of misnamedGauges) sharedRegistry.removeSingleMetric(name);
  }
  return sharedRegistry;
}

/** All processes report the same number, so it is not added up. */
const ofService = { aggregator: 'first' } as const;

interface MetricOptions<Label> {
  readonly labelNames?: readonly Label[];
  readonly aggregator?: 'first';
}

class MetricFactory {
  readonly #registers: Registry[];

  constructor(registry: Registry) {
    this.#registers = [registry];
  }

  counter<Label extends string>(name: string, help: string, options: MetricOptions<Label> = {}) {
    return new Counter<Label>({ name, help, registers: this.#registers, ...options });
  }

  /** A counter with one label, whose values are known in advance. */
  counterBy<Label extends string>(label: Label, values: readonly string[], name: string, help: string) {
    const counter = this.counter(name, help, { labelNames: [label] });
    for (const value of values) counter.labels(value).inc(0);
    return counter;
  }

  gauge<Label extends string>(name: string, help: string, options: MetricOptions<Label> = {}) {
    return new Gauge<Label>({ name, help, registers: this.#registers, ...options });
  }

  histogram<Label extends string>(
    name: string,
    help: string,
    options: MetricOptions<Label> & { readonly buckets: number[] },
  ) {
    return new Histogram<Label>({ name, help, registers: this.#registers, ...options });
  }
}

function createWebhookMetrics(create: MetricFactory, { eventTypes, mirrors }: MetricLabels) {
  const byType = (name: string, help: string) => create.counterBy('type', eventTypes, name, help);
  const byResource = (name: string, help: string) => create.counterBy('resource', mirrors, name, help);
  const known = new Set(eventTypes);
  return {
    mirrorDrift: byResource('mirror_drift_total', 'Corrections to local mirrors made by recovery'),
    backfilledObjects: byResource(
      'backfilled_objects_total',
      'Objects of the processor that were read again after an upgrade, to complete their rows',
    ),
    /** Unknown types share one label, so that a sender cannot create an unlimited number of series. */
    eventTypeLabel: (type: string) => (known.has(type) ? type : 'other'),
    webhookEventsReceived: byType('webhook_events_received_total', 'Webhook events received and stored'),
    webhookEventsProcessed: byType('webhook_events_processed_total', 'Webhook events applied to the mirrors'),
    webhookEventsFailed: byType('webhook_events_failed_total', 'Webhook events that failed for good'),
    webhookEventsIgnored: byType('webhook_events_ignored_total', 'Webhook events that change no mirror'),
    webhookEventsDuplicate: create.counter(
      'webhook_events_duplicate_total',
      'Duplicate webhook events discarded',
    ),
    webhookQueueDepth: create.gauge(
      'webhook_queue_depth',
      'Webhook events stored and not yet applied or failed, counted at scrape time, up to 100,000',
      ofService,
    ),
    webhookBatchSize: create.histogram(
      'webhook_batch_size',
      'How many webhook events a transaction stores or applies together',
      { buckets: batchBuckets },
    ),
    webhookLag: create.histogram(
      'webhook_lag_seconds',
      'Time from receiving a webhook event to applying it',
      { buckets: lagBucketsSeconds },
    ),
  };
}

function createPaymentMetrics(create: MetricFactory) {
  const checkouts = create.counter(
    'checkouts_total',
    'Checkouts that were created, completed by the buyer, or expired, each counted once',
    { labelNames: ['mode', 'outcome'] },
  );
  for (const mode of ['subscription', 'payment', 'setup'])
    for (const outcome of ['created', 'completed', 'expired']) checkouts.inc({ mode, outcome }, 0);
  return {
    checkouts,
    paymentsSucceeded: create.counter(
      'payments_succeeded_total',
      'Payments that succeeded, each counted once',
    ),
    paymentsFailed: create.counter('payments_failed_total', 'Failed payment attempts'),
    paymentsDisputed: create.counter(
      'payments_disputed_total',
      'Payments that were disputed, each counted once',
    ),
  };
}

function createDeliveryMetrics(create: MetricFactory) {
  return {
    eventDeliveries: create.counterBy(
      'outcome',
      ['succeeded', 'retried', 'failed'],
      'event_deliveries_total',
      'Attempts to deliver events to endpoints: succeeded, to be retried, or failed for good',
    ),
    eventDeliveryAge: create.gauge(
      'event_delivery_oldest_seconds',
      'The age of the oldest event that an enabled endpoint has not received, at scrape time',
      ofService,
    ),
  };
}

function createProcessMetrics(create: MetricFactory) {
  return {
    processesServing: create.gauge(
      'processes_serving',
      'Processes that serve requests, of those that PROCESSES sets',
      ofService,
    ),
    processesRestarted: create.counter(
      'processes_restarted_total',
      'Processes that were restarted because they had ended unexpectedly',
      ofService,
    ),
  };
}

function createDatabaseMetrics(create: MetricFactory) {
  const connections = create.gauge('database_connections', 'Connections of the pool, at scrape time', {
    labelNames: ['state'],
  });
  const waiting = create.gauge(
    'database_waiting',
    'Statements and transactions that wait for a connection of the pool, at scrape time',
  );
  const statements = create.counter(
    'database_statements_total',
    'Statements sent to PostgreSQL. Busy requests share statements, so that there are fewer for each request',
  );
  const buildInfo = create.gauge(
    'till_build_info',
    'Always 1. The labels say which versions of Till and Node run',
    { labelNames: ['version', 'node'], ...ofService },
  );
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

interface DatabaseUsage {
  readonly busy: number;
  readonly idle: number;
  readonly waiting: number;
  readonly statements: number;
}

function createUsageMetrics(create: MetricFactory) {
  return {
    usageEvents: create.counterBy(
      'result',
      ['recorded', 'duplicate', 'rejected'],
      'usage_events_total',
      'Usage events that were recorded, were recorded before, or were rejected',
    ),
    usageConsumptions: create.counterBy(
      'result',
      ['allowed', 'refused'],
      'usage_consumptions_total',
      'Requests to consume usage that were allowed or refused',
    ),
  };
}

function createRequestMetrics(create: MetricFactory) {
  return {
    httpRequestsShed: create.counterBy(
      'kind',
      ['webhooks', 'others', 'event_readers'],
      'http_requests_shed_total',
      'HTTP requests shed on arrival because the process was overloaded',
    ),
    rateLimitsShared: create.gauge(
      'rate_limits_shared',
      '1 while the processes count requests together, 0 while each counts alone because it has no Redis',
      ofService,
    ),
    eventStreams: create.gauge('event_streams', 'Open streams of events'),
    httpRequestDuration: create.histogram(
      'http_request_duration_seconds',
      'HTTP requests, by method, route and status',
      { labelNames: ['method', 'route', 'status'], buckets: requestBucketsSeconds },
    ),
    processorRequestDuration: create.histogram(
      'processor_request_duration_seconds',
      'Calls to the processor, by operation and outcome, including retries',
      { labelNames: ['operation', 'outcome'], buckets: requestBucketsSeconds },
    ),
  };
}

function createPaceMetrics(create: MetricFactory) {
  const priorities = ['interactive', 'background'];
  const queueLength = create.gauge(
    'processor_queue_length',
    "Calls that wait for the processor's rate limit, of requests (interactive) and of background work",
    { labelNames: ['priority'] },
  );
  const queueWait = create.histogram(
    'processor_queue_wait_seconds',
    "How long calls waited for the processor's rate limit before they began; none while no limit is known",
    { labelNames: ['priority'], buckets: requestBucketsSeconds },
  );
  for (const priority of priorities) {
    queueLength.set({ priority }, 0);
    queueWait.zero({ priority });
  }
  return {
    processorQueueLength: queueLength,
    processorQueueWait: queueWait,
    processorQueueRefused: create.counterBy(
      'priority',
      priorities,
      'processor_queue_refused_total',
      "Calls that were refused because they could not begin in time within the processor's rate limit",
    ),
    processorRateLimited: create.counterBy(
      'reason',
      ['global-rate', 'endpoint-rate', 'global-concurrency', 'endpoint-concurrency', 'resource-specific'],
      'processor_rate_limited_total',
      'Attempts that the processor refused with 429 because of a limit that it named',
    ),
  };
}

function createReplicaMetrics(create: MetricFactory) {
  return {
    databaseReads: create.counterBy(
      'target',
      ['primary', 'replica'],
      'database_reads_total',
      'Reads that a replica may serve (lists, exports, searches, overviews), by the server that served them',
    ),
    replicaFallbacks: create.counterBy(
      'reason',
      ['unavailable', 'lag', 'position', 'history', 'failed'],
      'replica_fallbacks_total',
      'Reads with a position that the primary served instead of the replica, by reason',
    ),
    replicaLag: create.gauge(
      'replica_lag_seconds',
      'How far the replica is behind the primary; it grows while the replica cannot be reached',
    ),
  };
}
