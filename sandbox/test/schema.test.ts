import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Stripe from 'stripe';
import { everything } from './schema/scenario.ts';
import { errorMark, type SentBody, schemaViolations } from './schema/typed-bodies.ts';
import { type TestSandbox, useReceiver, useSandbox } from './support.ts';

/** The sources of the bodies that break the schema on purpose. */
const noticed = [
  'missing',
  'unknown',
  'unknown below',
  'mistyped',
  'list',
  'decimal',
  'event',
  'event before, previous_attributes',
  'error (error)',
];

test('every response and every event has the shape of the pinned version, and the check notices a broken one', async (t) => {
  const receiver = await useReceiver(t);
  const used = await useSandbox(t, { webhook: { url: receiver.url, secret: 'whsec_x' } });
  const responses: SentBody[] = [];
  const recording: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const body: unknown = await response.clone().json();
    const source = `${init?.method ?? 'GET'} ${String(input).replace(/^.*\/v1\//, '')}`;
    responses.push(
      response.ok
        ? { source, body }
        : { source: `${source}${errorMark}`, body: (body as { error: unknown }).error },
    );
    return response;
  };
  const stripe = new Stripe('sk_test_schema', {
    host: '127.0.0.1',
    port: used.sandbox.port,
    protocol: 'http',
    telemetry: false,
    maxNetworkRetries: 0,
    httpClient: Stripe.createFetchHttpClient(recording),
  });
  await everything(stripe, used);
  await used.control('POST', 'delivery/flush');
  const events = receiver.received.map(({ event }) => ({ source: `event ${event.type}`, body: event }));

  const sent = new Set<string>(receiver.received.map(({ event }) => event.type));
  assert.deepEqual(
    emittedTypes().filter((type) => !sent.has(type) && type !== sentAfterDefects),
    [],
    'the scenario does not make the sandbox send these events',
  );
  const violations = await schemaViolations([...responses, ...events, ...(await brokenBodies(used))]);
  const isBroken = ({ source }: { readonly source: string }) => noticed.includes(source);
  assert.deepEqual(
    violations.filter((violation) => !isBroken(violation)),
    [],
  );
  assert.deepEqual(
    violations.map(({ source }) => source),
    noticed,
  );
});

/** Only a defect makes the sandbox send it. Its object has the shape of the clock's other events. */
const sentAfterDefects = 'test_helpers.test_clock.internal_failure';

/** The event types that the sandbox's code names. */
function emittedTypes(): string[] {
  const folder = fileURLToPath(new URL('../', import.meta.url));
  const code = globSync('**/*.ts', { cwd: folder, exclude: ['**/*.test.ts', 'test/**'] }).map((path) =>
    readFileSync(`${folder}${path}`, 'utf8'),
  );
  const calls = code.flatMap((text) => [...text.matchAll(/\bemit(?:Updated)?\(([^;]*?);/g)]);
  return [
    ...new Set(
      calls.flatMap(([, call = '']) =>
        [...call.matchAll(/'([a-z_]+(?:\.[a-z_]+)+)'/g)].map(([, type = '']) => type),
      ),
    ),
  ];
}

/**
 * Of an event and objects of the sandbox, what the check must notice: a missing, an unknown and a mistyped field, at
 * any depth.
 */
async function brokenBodies({ stripe }: TestSandbox): Promise<SentBody[]> {
  const customer = { ...(await stripe.customers.create({ email: 'a@example.com' })) };
  const [event] = (await stripe.events.list()).data;
  const price = await stripe.prices.create({ currency: 'usd', unit_amount: 5, product_data: { name: 'P' } });
  const { livemode: _, ...missing } = customer;
  const settings = customer.invoice_settings;
  return [
    { source: 'missing', body: missing },
    { source: 'unknown', body: { ...customer, colour: 'red' } },
    { source: 'unknown below', body: { ...customer, invoice_settings: { ...settings, colour: 'red' } } },
    { source: 'mistyped', body: { ...customer, created: '2026-01-01' } },
    { source: 'list', body: { object: 'list', data: [missing], has_more: false, url: '/v1/customers' } },
    { source: 'decimal', body: { ...price, unit_amount_decimal: 5 } },
    { source: 'event', body: { ...event, data: { object: missing } } },
    {
      source: 'event before',
      body: {
        ...event,
        data: { object: customer, previous_attributes: { invoice_settings: { footer: 1 } } },
      },
    },
    { source: `error${errorMark}`, body: { message: 'No.', code: 'card_declined' } },
  ];
}
