import { signatureHeader } from '../../sandbox/webhooks/render-event.ts';

export const webhookSecret = 'whsec_bench';

/** The objects that the events change, a third of each kind. They are created before the first event. */
export const objectCount = 2_000;
/** The processor's events are about 2 KB on average. Bodies are padded to that size. */
const bodyBytes = 2_048;
const daySeconds = 86_400;
/** The age of the first event: with one second between events, this leaves room for two million of them. */
const firstEventAgeSeconds = 25 * daySeconds;

/** The time of the first event, for one whole run. */
export function firstEventSeconds(nowMs: number): number {
  return Math.floor(nowMs / 1_000) - firstEventAgeSeconds;
}

export interface EventSeries {
  /** The number of the first event. The same number means the same event everywhere. */
  readonly first: number;
  readonly count: number;
  readonly startSeconds: number;
}

/** The signed requests of a series of events. */
export function eventRequests({ first, count, startSeconds }: EventSeries, nowMs: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => eventRequest(first + index, startSeconds, nowMs));
}

export function eventRequest(number: number, startSeconds: number, nowMs: number): Buffer {
  const body = eventBody(number, startSeconds);
  const head = [
    'POST /webhooks/processor HTTP/1.1',
    'host: bench',
    'content-type: application/json',
    `stripe-signature: ${signatureHeader(body, webhookSecret, nowMs)}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/**
 * Events cycle through the objects, so that two events about the same object are far apart. Each is a second later than
 * the one before. So no event is late, no two have the same time, and each changes its object.
 */
function eventBody(number: number, startSeconds: number): string {
  const created = startSeconds + number;
  const object = number % objectCount;
  const lap = Math.floor(number / objectCount);
  const { type, value } = eventKinds[object % eventKinds.length]?.(object, lap, created) ?? fail();
  const event = {
    id: `evt_bench_${number}`,
    object: 'event',
    api_version: '2026-10-28.endive',
    created,
    data: { object: { ...value, description: '' } },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
  const missing = bodyBytes - JSON.stringify(event).length;
  event.data.object.description = 'x'.repeat(Math.max(missing, 0));
  return JSON.stringify(event);
}

interface Content {
  readonly type: string;
  readonly value: object;
}

export const eventKinds: readonly ((object: number, lap: number, created: number) => Content)[] = [
  subscriptionEvent,
  paymentEvent,
  invoiceEvent,
];

/** Till's and the processor's ids for an object's number. The SQL seeds use the same ids. */
export function localId(object: number): string {
  return `00000000-0000-7000-8000-${object.toString(16).padStart(12, '0')}`;
}

function subscriptionEvent(object: number, lap: number, created: number): Content {
  const id = `sub_bench_${object}`;
  const price = {
    id: 'price_bench',
    object: 'price',
    active: true,
    billing_scheme: 'per_unit',
    created: created - daySeconds,
    currency: 'eur',
    livemode: false,
    metadata: {},
    product: 'prod_bench',
    recurring: { interval: 'month', interval_count: 1, meter: null, usage_type: 'licensed' },
    type: 'recurring',
    unit_amount: 900,
    unit_amount_decimal: '900',
  };
  const item = {
    id: `si_bench_${object}`,
    object: 'subscription_item',
    created: created - daySeconds,
    metadata: {},
    price,
    quantity: 1,
    subscription: id,
    current_period_start: created,
    current_period_end: created + 60 * daySeconds,
  };
  return {
    type: 'customer.subscription.updated',
    value: {
      id,
      object: 'subscription',
      cancel_at_period_end: false,
      canceled_at: null,
      created: created - daySeconds,
      currency: 'eur',
      customer: 'cus_bench',
      ended_at: null,
      items: { object: 'list', data: [item], has_more: false, url: '/v1/subscription_items' },
      latest_invoice: `in_bench_${object}`,
      livemode: false,
      metadata: { till_id: localId(object) },
      start_date: created - daySeconds,
      status: lap % 2 === 0 ? 'past_due' : 'active',
      trial_end: null,
    },
  };
}

function paymentEvent(object: number, lap: number, created: number): Content {
  const status = lap % 2 === 0 ? 'processing' : 'requires_action';
  return {
    type: `payment_intent.${status}`,
    value: {
      id: `pi_bench_${object}`,
      object: 'payment_intent',
      amount: 2_000,
      amount_received: 0,
      automatic_payment_methods: { enabled: true },
      canceled_at: null,
      client_secret: `pi_bench_${object}_secret_bench`,
      created: created - daySeconds,
      currency: 'eur',
      customer: 'cus_bench',
      livemode: false,
      metadata: { till_id: localId(object) },
      next_action: null,
      status,
    },
  };
}

function invoiceEvent(object: number, lap: number, created: number): Content {
  return {
    type: 'invoice.updated',
    value: {
      id: `in_bench_${object}`,
      object: 'invoice',
      amount_due: 900 + lap,
      amount_paid: 0,
      amount_remaining: 900 + lap,
      created: created - daySeconds,
      currency: 'eur',
      customer: 'cus_bench',
      hosted_invoice_url: `https://invoice.example.com/i/${object}`,
      livemode: false,
      lines: { object: 'list', data: [], has_more: false, url: '/v1/invoices/lines' },
      metadata: {},
      parent: {
        type: 'subscription_details',
        quote_details: null,
        subscription_details: { metadata: {}, subscription: `sub_bench_${object}` },
      },
      status: 'open',
      status_transitions: {
        finalized_at: created,
        marked_uncollectible_at: null,
        paid_at: null,
        voided_at: null,
      },
    },
  };
}

function fail(): never {
  throw new Error('there are no kinds of events');
}
