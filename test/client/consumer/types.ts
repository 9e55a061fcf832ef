/**
 * What the types of the installed package allow, and what they refuse: a line below `@ts-expect-error` must not
 * compile. Compiled by test/client/package.test.ts, and never run.
 */
import {
  isTillError,
  type Payment,
  Till,
  type TillEvent,
  type TillEventOf,
  tillEvents,
  toNodeHandler,
  verifyEvent,
} from '@till/client';

export async function calls(key: string | undefined): Promise<void> {
  const till = new Till({ url: 'https://till.example.com', apiKey: key });
  const { payment, clientSecret } = await till.payments.create({
    customerId: 'c',
    amount: 100,
    currency: 'eur',
  });
  const amount: number = payment.amount;
  const secret: string | null = clientSecret;
  // @ts-expect-error: the amount is a number
  await till.payments.create({ customerId: 'c', amount: '100', currency: 'eur' });
  // @ts-expect-error: the currency is missing
  await till.payments.create({ customerId: 'c', amount });
  // @ts-expect-error: the idempotency key belongs to the options
  await till.payments.create({ customerId: 'c', amount, currency: 'eur', idempotencyKey: 'k' });
  await till.payments.create({ customerId: 'c', amount, currency: 'eur' }, { idempotencyKey: 'k' });
  // @ts-expect-error: a GET has no idempotency key
  await till.payments.get('p', {}, { idempotencyKey: 'k' });
  // @ts-expect-error: there is no such field
  payment.cents;
  // @ts-expect-error: there is no such status
  till.payments.list({ status: 'paid' });
  // @ts-expect-error: a response is read-only
  payment.amount = 1;
  for await (const one of till.payments.list({ status: 'succeeded' })) one satisfies Payment;
  const { total, nextCursor } = await till.payments.list().page();
  [total, nextCursor, secret] satisfies [number, string | null, string | null];
  (await till.isEntitled({ externalId: 'user-1' }, 'reports')) satisfies boolean;
  // @ts-expect-error: by one id or the other
  await till.isEntitled({ externalId: 'user-1', customerId: 'c' }, 'reports');
  // @ts-expect-error: there is no such event type
  till.events.follow({ types: ['payment.paid'] });
}

export function errors(error: unknown): string | null {
  if (isTillError(error, 'payment_declined')) return error.declineCode;
  if (isTillError(error, 'invalid_request', 'already_subscribed')) {
    if (error.code === 'invalid_request') return error.errors[0]?.path ?? null;
    error.code satisfies 'already_subscribed';
    return error.subscriptionId;
  }
  // @ts-expect-error: there is no such code
  isTillError(error, 'payment_refused');
  if (!isTillError(error)) return null;
  // @ts-expect-error: only some codes have it
  error.declineCode;
  return error.requestId ?? error.code;
}

export async function events(body: string, headers: Headers): Promise<number | string> {
  const event: TillEvent = await verifyEvent({ body, headers, secret: ['new', 'old'] });
  if (event.type === 'payment.succeeded') return event.data.amountReceived;
  if (event.objectType === 'invoice') return event.data.amountDue;
  if (event.objectType === 'customer') return event.previous.email ?? event.data.email;
  // @ts-expect-error: a subscription, a plan, a refund or a payment
  event.data.amountDue;
  const canceled = (of: TillEventOf<'subscription.canceled'>) => of.data.planId;
  return event.type === 'subscription.canceled' ? canceled(event) : event.id;
}

/** A request of Next.js, and its route handlers, as its generated checks require them. */
interface NextRequest extends Request {
  readonly nextUrl: URL;
}
type NextRouteHandler = (
  request: NextRequest,
  context: { readonly params: Promise<Readonly<Record<string, string>>> },
) => Response | Promise<Response>;

/** A handler of Hono. */
type HonoHandler = (context: { readonly req: { readonly raw: Request } }) => Response | Promise<Response>;

export function handlers(): unknown {
  const POST = tillEvents({
    secret: ['new', 'old'],
    on: {
      'payment.succeeded': (event) => event.data.amountReceived satisfies number,
      'subscription.entitled': async (event) => void (event.data.planId satisfies string),
      // @ts-expect-error: there is no such event type
      'payment.paid': () => {},
      // @ts-expect-error: an invoice has no features
      'invoice.paid': (event) => event.data.features,
    },
  });
  POST satisfies NextRouteHandler;
  const hono: HonoHandler = (context) => POST(context.req.raw);
  return [hono, toNodeHandler(POST)];
}
