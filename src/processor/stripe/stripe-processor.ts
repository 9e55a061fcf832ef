import http from 'node:http';
import https from 'node:https';
import type { Logger } from '#core/platform/logger.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import type { RunScript } from '../pacing/leased-tokens.ts';
import type { BeforeCall, Processor } from '../port/processor.ts';
import { createSubscriptionChangeCalls } from './changes/subscription-changes.ts';
import { isLiveKey, isRestrictedKey, publicApiBase } from './check-secret-key.ts';
import { eventTypes } from './events/event-types.ts';
import { createEventCalls } from './events/events.ts';
import { readEventContent } from './events/map-event.ts';
import { redactStored } from './events/redact-payload.ts';
import { understandsVersion, verifierOf } from './events/verify-webhook.ts';
import { createAccountRead, createTimeRead } from './objects/account.ts';
import { createCheckoutCalls } from './objects/checkouts.ts';
import { createCustomerCalls } from './objects/customers.ts';
import { createDisputeCalls } from './objects/disputes.ts';
import { createInvoiceCalls } from './objects/invoices.ts';
import { createPaymentMethodCalls } from './objects/payment-methods.ts';
import { createPaymentCalls } from './objects/payments.ts';
import { createPlanCalls } from './objects/plans.ts';
import { createPortalCalls } from './objects/portal.ts';
import { createPromotionCodeCalls } from './objects/promotion-codes.ts';
import { createRefundCalls } from './objects/refunds.ts';
import { createSubscriptionCalls } from './objects/subscriptions.ts';
import { createWebhookEndpointCalls } from './objects/webhook-endpoints.ts';
import type { AdapterContext } from './wire/adapter-context.ts';
import { type CallLimits, callLimits, createCaller, gateCalls } from './wire/calls.ts';
import { createPacer, type PaceMetrics } from './wire/create-pacer.ts';
import { createHttpClient, SentWrites } from './wire/http-client.ts';
import { Stripe } from './wire/stripe-package.ts';

interface StripeProcessorOptions {
  readonly secretKey: string;
  /** Scheme, host and port. A URL with a path is refused, because the wire API has a fixed path. */
  readonly apiBase: URL;
  readonly webhookSecrets: readonly string[];
  readonly maxInFlight: number;
  /** Calls a second in all. Without it: the processor's own limits, and none at another address. */
  readonly requestsPerSecond?: number | undefined;
  /** How many processes share this limit if they have no cache in common. */
  readonly processes?: number | undefined;
  /** Runs a script in the cache that the processes have in common. */
  readonly runScript?: RunScript | undefined;
  readonly metrics: PaceMetrics & Pick<Metrics, 'processorRequestDuration' | 'processorRateLimited'>;
  readonly logger: Logger;
  /** Reading the account is always allowed. */
  readonly beforeCall?: BeforeCall | undefined;
  /** Shorter limits for tests. */
  readonly limits?: Partial<CallLimits>;
}

/** Implements Till's processor port on Stripe's wire API, through its official package. */
export function createStripeProcessor(options: StripeProcessorOptions): Processor {
  const { secretKey, webhookSecrets, maxInFlight, metrics, logger, beforeCall } = options;
  if (webhookSecrets.length === 0 || webhookSecrets.some((secret) => secret.trim() === '')) {
    throw new Error('an empty webhook secret would let anyone forge events');
  }
  const address = parseApiBase(options.apiBase);
  // As many connections as calls, so that no call spends its time waiting for a connection.
  const agent = new address.client.Agent({ keepAlive: true, maxSockets: maxInFlight });
  const sent = new SentWrites();
  const limits = { ...callLimits, ...options.limits };
  const pacer = createPacer(options);
  const ungated: AdapterContext = {
    stripe: new Stripe(secretKey, {
      host: address.host,
      port: address.port,
      protocol: address.protocol,
      httpClient: createHttpClient(agent, sent),
      // Till retries calls itself, under one deadline.
      maxNetworkRetries: 0,
      telemetry: false,
    }),
    call: createCaller(metrics, pacer, limits),
    logger,
  };
  const context: AdapterContext = {
    ...ungated,
    call: gateCalls(ungated.call, beforeCall, limits),
  };
  return {
    livemode: isLiveKey(secretKey),
    ...accountModeOf(secretKey, options.apiBase),
    eventTypes: new Set(eventTypes),
    customers: createCustomerCalls(context),
    plans: createPlanCalls(context),
    payments: createPaymentCalls(context),
    refunds: createRefundCalls(context),
    disputes: createDisputeCalls(context),
    subscriptions: createSubscriptionCalls(context),
    checkouts: createCheckoutCalls(context),
    promotionCodes: createPromotionCodeCalls(context),
    subscriptionChanges: createSubscriptionChangeCalls(context),
    invoices: createInvoiceCalls(context),
    paymentMethods: createPaymentMethodCalls(context),
    portal: createPortalCalls(context),
    events: createEventCalls(context),
    webhookEndpoints: createWebhookEndpointCalls(context),
    readAccount: createAccountRead(ungated, isRestrictedKey(secretKey)),
    readTime: createTimeRead(ungated),
    verifyWebhook: verifierOf(webhookSecrets),
    readEvent: readEventContent,
    causeOf: sent.causeOf.bind(sent),
    redact: redactStored,
    understands: understandsVersion,
    close: () => {
      pacer.close();
      agent.destroy();
    },
  };
}

function parseApiBase(apiBase: URL) {
  const { protocol, hostname, pathname, search, hash, username, password } = apiBase;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new Error(`the processor's address must start with http:// or https://, not ${protocol}`);
  }
  if (pathname !== '/' || search !== '' || hash !== '' || username !== '' || password !== '') {
    throw new Error("the processor's address must be a scheme, a host and a port, with nothing after them");
  }
  const secure = protocol === 'https:';
  return {
    client: secure ? https : http,
    protocol: secure ? ('https' as const) : ('http' as const),
    // The brackets around an IPv6 address belong to the URL, not to the host.
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: apiBase.port === '' ? (secure ? 443 : 80) : Number(apiBase.port),
  };
}

const dashboard = 'https://dashboard.stripe.com';

/** A test key at a host that is not the processor's own belongs to a sandbox, which has no dashboard. */
export function accountModeOf(secretKey: string, apiBase: URL): Pick<Processor, 'mode' | 'dashboardUrl'> {
  if (isLiveKey(secretKey)) return { mode: 'live', dashboardUrl: dashboard };
  if (apiBase.host === publicApiBase.host) return { mode: 'test', dashboardUrl: `${dashboard}/test` };
  return { mode: 'sandbox', dashboardUrl: null };
}
