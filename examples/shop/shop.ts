// The whole back end of the shop, from top to bottom. It asks Till who has paid for what. The HTML is in pages.ts.
import { randomBytes, scryptSync } from 'node:crypto';
import { chmodSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { serve } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { isTillError, Till, tillEvents } from '@till/client';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';
import { csrf } from 'hono/csrf';
import { secureHeaders } from 'hono/secure-headers';
import { contentSecurityPolicy, pages, stripePackage } from './pages.ts';

const {
  TILL_URL = 'http://127.0.0.1:3000',
  TILL_API_KEY = readFileSync('.till/api-key', 'utf8').trim(), // "npm start" writes it.
  SHOP_PORT = '3002',
  SHOP_URL = `http://127.0.0.1:${SHOP_PORT}`,
  SHOP_FILE = '.till/shop.sqlite',
  COOKIE_SECRET = randomBytes(32).toString('hex'), // Without it, sessions end when the shop is restarted.
} = process.env;
const till = new Till({ url: TILL_URL, apiKey: TILL_API_KEY });

// What the shop sells. A plan that Till has is not created again. A customer has one plan of a group at most.
const existing = await till.plans.list({ activeOnly: 'true' });
const [group, currency, interval] = ['fieldnotes', 'eur', 'month'] as const;
const plan = async (name: string, amount: number, more: object) =>
  existing.find((one) => one.name === name && one.metadata['shop'] === group) ??
  till.plans.create({ name, amount, currency, interval, metadata: { shop: group }, ...more });
const solo = await plan('Solo', 900, { group, features: { notebook: true, seats: 1 } });
const team = await plan('Team', 2_900, { group, features: { notebook: true, reports: true, seats: 3 } });
const offered = (id: unknown) => [solo, team].find((one) => one.id === id);
const seat = await plan('Extra seat', 600, { addOn: true, features: { seats: 1 } });

// Accounts, as an application has them before it sells anything. A user has the id of the customer in Till.
const db = new DatabaseSync(SHOP_FILE);
db.exec(`create table if not exists users (id text primary key, email text unique, password text);
  create table if not exists messages (eventId text primary key, userId text, text text);
  create table if not exists secrets (endpointId text primary key, secret text)`);
chmodSync(SHOP_FILE, 0o600);
type User = Record<'id' | 'email' | 'password', string>;
const findUser = (column: 'id' | 'email', value: string) =>
  db.prepare(`select * from users where ${column} = ?`).get(value) as User | undefined; // the columns above
const hash = (password: string, salt: string) => scryptSync(password, salt, 32).toString('hex');
const cookie = { httpOnly: true, sameSite: 'Lax', secure: SHOP_URL.startsWith('https:') } as const;
const userOf = async (c: Context) => findUser('id', (await getSignedCookie(c, COOKIE_SECRET, 'shop')) || '');

// What Till tells the shop. Till shows a secret once, so the shop stores it. An event can arrive twice, and is stored
// once.
const [url, endpoints] = [`${SHOP_URL}/till-events`, till.eventEndpoints];
const known = (await Array.fromAsync(endpoints.list())).find((endpoint) => endpoint.url === url);
const findSecret = db.prepare('select secret from secrets where endpointId = ?');
const stored = known && (findSecret.get(known.id) as { secret: string } | undefined);
const issued = stored ? null : await (known ? endpoints.rotateSecret(known.id) : endpoints.create({ url }));
const secret = stored?.secret ?? issued?.secret ?? '';
if (issued) db.prepare('insert into secrets values (?, ?)').run(issued.id, secret);
function tell({ id, data }: { id: string; data: { customerId: string | null } }, text: string): void {
  const user = findUser('id', data.customerId ?? '');
  const stored = db.prepare('insert or ignore into messages values (?, ?, ?)').run(id, data.customerId, text);
  if (user && stored.changes === 1) process.stdout.write(`  ${user.email}: ${text}\n`);
}
const events = tillEvents({
  secret,
  on: {
    'subscription.entitled': (event) => tell(event, 'Your plan has started. Welcome!'),
    'subscription.canceled': (event) => tell(event, 'Your plan has ended.'),
    'payment.succeeded': (event) => tell(event, 'We received your payment. Thank you!'),
    'payment.failed': (event) => tell(event, 'A payment failed. Please check your card.'),
  },
});

/** The subscription that has not ended. `fresh` asks Stripe first: a customer can be back before the webhook. */
async function subscriptionOf({ id }: Pick<User, 'id'>, fresh = false) {
  const { subscriptions } = await till.entitlements({ customerId: id }, { fresh });
  const live = subscriptions.find(({ status }) => !/^(canceled|incomplete)/.test(status));
  return live && till.subscriptions.get(live.subscriptionId);
}

async function checkoutUrl(customerId: string, planId: string): Promise<string> {
  const urls = { successUrl: `${SHOP_URL}/notebook?checkout={CHECKOUT_ID}`, cancelUrl: SHOP_URL };
  return (await till.checkouts.create({ customerId, planId, ...urls })).url ?? '/account';
}

const app = new Hono<{ Variables: { user: User } }>();
app.post('/till-events', (c) => events(c.req.raw));
app.use(secureHeaders({ contentSecurityPolicy }), csrf({ origin: SHOP_URL }), bodyLimit({ maxSize: 10_000 }));
app.get('/public/*', serveStatic({ root: import.meta.dirname }));
app.get('/stripe-js.mjs', serveStatic({ path: stripePackage }));
app.get('/', async (c) => {
  const user = await userOf(c);
  return c.html(pages.prices([solo, team], user !== undefined, user && (await subscriptionOf(user))));
});
app.get('/sign-in', (c) => c.html(pages.signIn()));
app.post('/sign-in', async (c) => {
  const { email, password } = await c.req.parseBody<{ email: string; password: string }>();
  const retry = (problem: string) => c.html(pages.signIn(problem), 422);
  if (!email?.includes('@') || !(password?.length >= 8)) return retry('The password needs eight characters.');
  const id = findUser('email', email)?.id ?? (await till.customers.create({ email, externalId: email })).id;
  db.prepare('insert or ignore into users values (?, ?, ?)').run(id, email, hash(password, id));
  if (findUser('id', id)?.password !== hash(password, id)) return retry('The password is wrong.');
  await setSignedCookie(c, 'shop', id, COOKIE_SECRET, cookie);
  // Who started with a plan goes on to pay for it, unless the account has a plan.
  const wanted = offered(c.req.query('plan'));
  const isNew = wanted && !(await subscriptionOf({ id }));
  return c.redirect(isNew ? await checkoutUrl(id, wanted.id) : '/', 303);
});

// For users who have signed in.
app.use(async (c, next) => {
  const user = await userOf(c);
  if (user === undefined) return c.redirect('/sign-in', 303);
  c.set('user', user);
  return next();
});
app.post('/sign-out', (c) => {
  deleteCookie(c, 'shop');
  return c.redirect('/', 303);
});
app.post('/checkout', async (c) => {
  const { id: planId } = offered((await c.req.parseBody())['plan']) ?? solo;
  return c.redirect(await checkoutUrl(c.var.user.id, planId), 303);
});
for (const feature of ['notebook', 'reports'] as const)
  app.get(`/${feature}`, async (c) => {
    // After Checkout, Till asks Stripe, so the page opens even if the webhook has not arrived yet.
    const checkoutId = c.req.query('checkout');
    if (checkoutId) await till.checkouts.get(checkoutId, { waitSeconds: 10 });
    const isEntitled = await till.isEntitled({ customerId: c.var.user.id }, feature);
    return isEntitled ? c.html(pages[feature]) : c.html(pages.locked, 402);
  });
app.get('/account', async (c) => {
  const { user } = c.var;
  const subscription = await subscriptionOf(user, c.req.query('fresh') !== undefined);
  const messages = db.prepare('select text from messages where userId = ? order by rowid desc').all(user.id);
  return c.html(pages.account(user.email, messages, [solo, team], subscription));
});
app.post('/portal', async (c) => {
  const portal = await till.portal(c.var.user.id, { returnUrl: `${SHOP_URL}/account?fresh` });
  return c.redirect(portal.url, 303);
});
/** The time from which a change is billed, by user. It decides the price, so it does not come from the form. */
const prorationDates = new Map<string, string | null>();
app.on(['GET', 'POST'], '/change', async (c) => {
  const subscription = await subscriptionOf(c.var.user);
  if (subscription === undefined) return c.redirect('/', 303);
  const [planId, quantity] = [offered(c.req.query('plan'))?.id, Number(c.req.query('seats'))];
  const addOns = quantity > 0 ? [{ planId: seat.id, quantity }] : [];
  const change = { ...(planId ? { planId } : { addOns }), proration: 'invoice' as const };
  if (c.req.method === 'GET') {
    const preview = await till.subscriptions.preview(subscription.id, change);
    prorationDates.set(c.var.user.id, preview.prorationDate);
    return c.html(pages.change(preview));
  }
  const prorationDate = prorationDates.get(c.var.user.id) ?? null;
  const { clientSecret } = await till.subscriptions.update(subscription.id, { ...change, prorationDate });
  if (clientSecret === null) return c.redirect('/account', 303);
  return c.html(pages.cardForm(clientSecret, `${SHOP_URL}/account`));
});
app.get('/handbook', async (c) => {
  const order = { customerId: c.var.user.id, amount: 4_900, currency, metadata: { item: 'handbook' } };
  const paid = till.payments.list({ customerId: order.customerId, status: 'succeeded' });
  for await (const { metadata } of paid) if (metadata['item'] === 'handbook') return c.html(pages.handbook);
  // Every tab gets the same payment, because of its idempotency key. If it exists, Till asks Stripe for its status.
  const { payment, clientSecret } = await till.payments.create(order, { idempotencyKey: order.customerId });
  if (payment.status === 'succeeded') return c.html(pages.handbook);
  return c.html(pages.cardForm(clientSecret, `${SHOP_URL}/handbook`, 'Handbook, €49'));
});

app.onError((error, c) => {
  if ('getResponse' in error) return error.getResponse();
  if (isTillError(error) && error.status < 500) return c.html(pages.problem('That is not possible.'), 409);
  process.stderr.write(`${error.stack}\n`);
  return c.html(pages.problem('Please try again in a minute.'), 503);
});
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(SHOP_PORT) }, () =>
  process.stdout.write(`\n  The shop is open at ${SHOP_URL}. Pay with the card 4242 4242 4242 4242.\n`),
);
