import type { TestContext } from 'node:test';
import { Stripe } from 'stripe';
import { startSandbox } from '../../sandbox/sandbox.ts';
import type { RequestMark } from '../../src/processor/port/request-mark.ts';
import type { CallLimits } from '../../src/processor/stripe/wire/calls.ts';
import { type Adapter, startAdapter } from './adapter.ts';
import { localId } from './wire-objects.ts';

export interface Sandboxed extends Adapter {
  /** The official client on its own: the frontend and the dashboard, as far as Till is concerned. */
  readonly stripe: Stripe;
  /** The sandbox's own controls: its clock, its faults, its deliveries. */
  control(path: string, body?: object): Promise<void>;
}

/** The real adapter on a sandbox of its own, kept in memory. */
export async function startSandboxed(
  t: TestContext,
  options: { limits?: Partial<CallLimits>; webhook?: { url: string; secret: string } } = {},
): Promise<Sandboxed> {
  const { webhook, limits } = options;
  const sandbox = await startSandbox({ port: 0, ...(webhook === undefined ? {} : { webhook }) });
  t.after(() => sandbox.close());
  const adapter = startAdapter(t, new URL(sandbox.url), limits === undefined ? {} : { limits });
  return {
    ...adapter,
    stripe: new Stripe('sk_test_dashboard', {
      host: '127.0.0.1',
      port: sandbox.port,
      protocol: 'http',
      telemetry: false,
    }),
    control: async (path, body = {}) => {
      const response = await fetch(`${sandbox.url}/sandbox/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`the sandbox refused ${path}: ${await response.text()}`);
    },
  };
}

let keys = 0;

/** An idempotency key that is unique in this process. */
export function newKey(): { readonly idempotencyKey: string; readonly mark: RequestMark } {
  keys += 1;
  return { idempotencyKey: `key-${keys}`, mark: { key: `digest-${keys}`, request: 'request' } };
}

export async function newCustomer({ processor }: Sandboxed): Promise<string> {
  const values = { id: localId, email: 'ada@example.com', name: 'Ada', phone: null };
  const { processorCustomerId } = await processor.customers.create({ ...values, ...newKey() });
  return processorCustomerId;
}

/** A payment, paid with a card. */
export async function newPaidPayment(
  sandboxed: Sandboxed,
  card = 'pm_card_visa',
  amount = 2000,
): Promise<string> {
  const processorCustomerId = await newCustomer(sandboxed);
  const values = { id: localId, processorCustomerId, amount, currency: 'eur' };
  const { payment } = await sandboxed.processor.payments.create({ ...values, ...newKey() });
  await confirm(sandboxed, payment.processorPaymentIntentId, card);
  return payment.processorPaymentIntentId;
}

export async function confirm({ stripe }: Sandboxed, paymentIntentId: string, card: string): Promise<void> {
  await stripe.paymentIntents.confirm(paymentIntentId, {
    payment_method: card,
    return_url: 'https://shop.example.com/done',
  });
}

export async function newPlan({ processor }: Sandboxed, amount = 900): Promise<string> {
  const values = { id: localId, name: 'Gold', amount, currency: 'eur', interval: 'month' } as const;
  const { price } = await processor.plans.create({ ...values, ...newKey() });
  return price.processorPriceId;
}

export async function newSubscription(
  sandboxed: Sandboxed,
  trialPeriodDays = 0,
  amount = 900,
  key = newKey(),
) {
  const processorCustomerId = await newCustomer(sandboxed);
  const processorPriceId = await newPlan(sandboxed, amount);
  return sandboxed.processor.subscriptions.create({
    id: localId,
    processorCustomerId,
    processorPriceId,
    trialPeriodDays,
    ...key,
  });
}
