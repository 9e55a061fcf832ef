import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import Stripe from 'stripe';
import { collectGarbage } from '../../test/support/collect-garbage.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../sandbox.ts';

export interface TestSandbox {
  readonly sandbox: Sandbox;
  readonly stripe: Stripe;
  /** Calls the control API and returns its response. */
  control(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<{ status: number; body: unknown }>;
  /** Moves the clock. */
  advance(seconds: number): Promise<void>;
}

/** A sandbox of its own for one test, closed with it. */
export async function useSandbox(
  t: TestContext,
  options: Partial<SandboxOptions> = {},
): Promise<TestSandbox> {
  const sandbox = await startSandbox({ port: 0, ...options });
  t.after(() => sandbox.close());
  const control: TestSandbox['control'] = (method, path, body) =>
    callControl(sandbox.url, method, path, body);
  return {
    sandbox,
    stripe: clientOf(sandbox.port),
    control,
    advance: async (advanceSeconds) => {
      const { status } = await control('POST', 'clock', { advanceSeconds });
      if (status !== 200) throw new Error(`the clock did not move: ${status}`);
    },
  };
}

/** A world of its own in a sandbox that others use too. */
export interface TestWorld {
  readonly stripe: Stripe;
  readonly publishableKey: string;
  control: TestSandbox['control'];
}

export function worldOf({ url, port }: Pick<Sandbox, 'url' | 'port'>, name: string): TestWorld {
  const key = `sk_test_world_${name}`;
  return {
    stripe: clientOf(port, key),
    publishableKey: `pk_test_world_${name}`,
    control: (method, path, body) => callControl(url, method, path, body, { authorization: `Bearer ${key}` }),
  };
}

export async function callControl(
  url: string,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${url}/sandbox/${path}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

/** The official client, without retries of its own, so that a test sees every response. */
export function clientOf(port: number, key = 'sk_test_sandbox'): Stripe {
  return new Stripe(key, {
    host: '127.0.0.1',
    port,
    protocol: 'http',
    telemetry: false,
    maxNetworkRetries: 0,
  });
}

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: Stripe.Event;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Which events to refuse with a 500; none, until a test says otherwise. */
  refuses: (event: Stripe.Event) => boolean;
  /** Settles with the first `count` webhooks, as soon as there are so many. */
  first(count: number): Promise<Received[]>;
}

/** A place for webhooks to arrive at. */
export async function useReceiver(t: TestContext): Promise<Receiver> {
  const received: Received[] = [];
  const arrivals: (() => void)[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    // The sandbox sends events; what it sends is what the tests look at.
    const event = JSON.parse(body) as Stripe.Event;
    received.push({ headers: request.headers, body, event });
    response.writeHead(receiver.refuses(event) ? 500 : 200).end();
    for (const arrived of arrivals.splice(0)) arrived();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    received,
    refuses: () => false,
    first: async (count) => {
      while (received.length < count) await new Promise<void>((resolve) => arrivals.push(resolve));
      return received.slice(0, count);
    },
  };
  return receiver;
}

/** A customer and a recurring price, which most tests of subscriptions begin with. */
export async function customerAndPrice(
  stripe: Stripe,
  price: { unit_amount?: number; interval?: 'day' | 'week' | 'month' | 'year' } = {},
) {
  const customer = await stripe.customers.create({ email: 'jenny@example.com', name: 'Jenny' });
  const created = await stripe.prices.create({
    currency: 'usd',
    unit_amount: price.unit_amount ?? 1_500,
    recurring: { interval: price.interval ?? 'month' },
    product_data: { name: 'Plan' },
  });
  return { customer, price: created };
}

/** A subscription created as Till creates it; its first invoice waits for a card. */
export async function incompleteSubscription(stripe: Stripe, customer: string, price: string) {
  const subscription = await stripe.subscriptions.create({
    customer,
    items: [{ price }],
    payment_behavior: 'default_incomplete',
    payment_settings: { save_default_payment_method: 'on_subscription' },
    expand: ['latest_invoice.confirmation_secret'],
  });
  const invoice = subscription.latest_invoice;
  if (typeof invoice !== 'object' || invoice?.confirmation_secret == null)
    throw new Error('no secret to confirm');
  const secret = invoice.confirmation_secret.client_secret;
  return { subscription, invoice, secret, intentId: secret.slice(0, secret.indexOf('_secret_')) };
}

/** The types of all events so far, oldest first. */
export async function eventTypes(stripe: Stripe): Promise<string[]> {
  const types: string[] = [];
  for await (const event of stripe.events.list({ limit: 100 })) types.push(event.type);
  return types.reverse();
}

/** The size of the live objects on the heap. */
export function heapUsedBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
