/** What an application does with the installed package. It runs under several versions of Node, against a real Till. */
import { isTillError, Till, TillConnectionError, TillVerificationError, verifyEvent } from '@till/client';

declare const process: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly stdout: { write(text: string): void };
};

const { TILL_URL: url, TILL_API_KEY: apiKey, EVENT_BODY: body = '', EVENT_SECRET: secret } = process.env;
const till = new Till({ url, apiKey, retryDelayMs: 1 });
const externalId = crypto.randomUUID();

const after = await till.events.latestCursor();
const customer = await till.customers.create({ email: 'ada@example.com', externalId });
const order = { customerId: customer.id, amount: 2_000, currency: 'eur' };
const { payment } = await till.payments.create(order);
const listed: string[] = [];
for await (const { id } of till.payments.list({ customerId: customer.id })) listed.push(id);

const followed: string[] = [];
for await (const event of till.events.follow({ after, customerId: customer.id })) {
  followed.push(event.type);
  if (event.type === 'payment.created') break;
}

const declined = await failure(till.payments.get(crypto.randomUUID()));
const unreachable = await failure(new Till({ url: 'http://127.0.0.1:9', apiKey, retries: 0 }).plans.list());
const aborted = await failure(till.plans.list({}, { signal: AbortSignal.abort('stopped') }));
const headers = JSON.parse(process.env['EVENT_HEADERS'] ?? '{}');
const event = await verifyEvent({ body, headers, secret });
const forged = await failure(verifyEvent({ body: `${body} `, headers, secret }));

process.stdout.write(
  JSON.stringify({
    version: process.version,
    isListed: listed.join() === payment.id,
    followed,
    isMissing: isTillError(declined, 'not_found'),
    isUnreachable: unreachable instanceof TillConnectionError,
    aborted,
    verified: event.id,
    isForged: forged instanceof TillVerificationError,
    isEntitled: await till.isEntitled({ externalId }, 'reports'),
  }),
);

async function failure(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}
