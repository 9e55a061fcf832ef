// The back end of the shop, from top to bottom. It asks Till who has paid for what.
import { existsSync, readFileSync } from 'node:fs';
// An application imports these from '@till/client'.
import { isTillError, Till, tillEvents } from '../../client/src/index.ts';
import { createUser, findUser, save, state, type User } from './accounts.ts';
import { type Html, pages } from './pages.ts';
import { type Reply, type Routes, serve } from './web.ts';

const keyFile = '.till/api-key'; // "npm start" writes it.
const {
  TILL_URL = 'http://127.0.0.1:3000',
  TILL_API_KEY = existsSync(keyFile) ? readFileSync(keyFile, 'utf8').trim() : 'none',
  SHOP_PORT = '3002',
  SHOP_URL = `http://127.0.0.1:${SHOP_PORT}`,
  STRIPE_JS = 'http://127.0.0.1:3001/stripe.js', // the sandbox's; else https://js.stripe.com/endive/stripe.js
  STRIPE_PUBLISHABLE_KEY = 'pk_test_shop',
} = process.env;
const till = new Till({ url: TILL_URL, apiKey: TILL_API_KEY });
await till.liveness({ retries: 0 }).catch(() => {
  process.stderr.write(`Till is not running at ${TILL_URL}. Start it in another terminal: npm start\n`);
  process.exit(1);
});

// What the shop sells. A plan that Till has is not created again. A customer has one plan of a group at most.
const group = 'fieldnotes';
const existing = await till.plans.list({ activeOnly: 'true' });
const plan = async (name: string, amount: number, more: object) =>
  existing.find((one) => one.name === name && one.metadata['shop'] === group) ??
  till.plans.create({ name, amount, currency: 'eur', interval: 'month', metadata: { shop: group }, ...more });
const solo = await plan('Solo', 900, { group, features: { notebook: true, seats: 1 } });
const team = await plan('Team', 2_900, { group, features: { notebook: true, reports: true, seats: 3 } });
const seat = await plan('Extra seat', 600, { addOn: true, features: { seats: 1 } });

// What Till tells the shop. An event can arrive twice, so each is handled once.
state.eventSecret ||= (await till.eventEndpoints.create({ url: `${SHOP_URL}/till-events` })).secret ?? '';
save();
const events = tillEvents({
  secret: state.eventSecret,
  on: {
    'subscription.entitled': (event) => tell(event, 'Your plan has started. Welcome!'),
    'subscription.canceled': (event) => tell(event, 'Your plan has ended.'),
    'payment.succeeded': (event) => tell(event, 'We received your payment. Thank you!'),
    'payment.failed': (event) => tell(event, 'A payment failed. Please check your card.'),
  },
});
function tell(event: { id: string; data: { customerId: string | null } }, text: string): void {
  const user = state.users.find(({ customerId }) => customerId === event.data.customerId);
  if (user === undefined || user.messages.some(({ eventId }) => eventId === event.id)) return;
  user.messages.unshift({ eventId: event.id, text });
  save();
  process.stdout.write(`  ${user.email}: ${text}\n`);
}

/** The subscription that has not ended. `fresh` asks Stripe first: a customer can be back before the webhook. */
async function subscriptionOf({ customerId }: User, fresh = false) {
  const { subscriptions } = await till.entitlements({ customerId }, { fresh });
  const live = subscriptions.find(({ status }) => !/^(canceled|incomplete)/.test(status));
  return live && till.subscriptions.get(live.subscriptionId);
}
const planIdOf = (fields: URLSearchParams) => (fields.get('plan') === team.id ? team.id : solo.id);
/** Another plan, or another number of extra seats. The customer pays for it now. */
function changeOf(fields: URLSearchParams) {
  const quantity = Number(fields.get('seats'));
  const addOns = quantity > 0 ? [{ planId: seat.id, quantity }] : [];
  return {
    ...(fields.has('plan') ? { planId: planIdOf(fields) } : { addOns }),
    proration: 'invoice' as const,
  };
}
/** The time from which a change is billed, by user. It decides the price, so it does not come from the form. */
const prorationDates = new Map<string, string | null>();
async function gate({ customerId }: User, feature: string, page: Html): Promise<Reply> {
  return (await till.isEntitled({ customerId }, feature)) ? page : pages.locked;
}
const stripe = { stripeJs: STRIPE_JS, publishableKey: STRIPE_PUBLISHABLE_KEY };
const cardForm = (clientSecret: string | null, next: string, what?: string) =>
  pages.cardForm({ ...stripe, clientSecret, returnUrl: SHOP_URL + next, what });

// What visitors can do. A reply is a page, or the address to go to.
const open: Routes<User | undefined> = {
  'GET /': async (_, user) =>
    pages.prices([solo, team], user !== undefined, user && (await subscriptionOf(user))),
  'GET /sign-up': () => pages.signUp(),
  'POST /sign-up': async ({ form, signIn }) => {
    const user = await createUser(form, (customer) => till.customers.create(customer));
    return typeof user === 'string' ? pages.signUp(user) : signIn(user);
  },
  'GET /sign-in': () => pages.signIn(),
  'POST /sign-in': async ({ form, signIn }) => {
    const user = await findUser(form);
    return user === undefined ? pages.signIn('The address or the password is wrong.') : signIn(user);
  },
};
const members: Routes<User> = {
  'POST /sign-out': ({ signIn }) => signIn(undefined),
  'POST /checkout': async ({ form }, { customerId }) => {
    const urls = { successUrl: `${SHOP_URL}/welcome?checkout={CHECKOUT_ID}`, cancelUrl: SHOP_URL };
    const { url } = await till.checkouts.create({ customerId, planId: planIdOf(form), ...urls });
    return url ?? '/account';
  },
  // Till asks Stripe, so the notebook opens even if the webhook has not arrived yet.
  'GET /welcome': async ({ query }) => {
    const { checkout } = await till.checkouts.get(query.get('checkout') ?? '', { waitSeconds: 10 });
    return checkout.status === 'completed' ? '/notebook' : '/';
  },
  'GET /notebook': (_, user) => gate(user, 'notebook', pages.notebook),
  'GET /reports': (_, user) => gate(user, 'reports', pages.reports),
  'GET /account': async ({ query }, user) =>
    pages.account(user, [solo, team], await subscriptionOf(user, query.has('fresh'))),
  'POST /portal': async (_, { customerId }) =>
    (await till.portal(customerId, { returnUrl: `${SHOP_URL}/account?fresh` })).url,
  'GET /change': async ({ query }, user) => {
    const subscription = await subscriptionOf(user);
    if (subscription === undefined) return '/';
    const preview = await till.subscriptions.preview(subscription.id, changeOf(query));
    prorationDates.set(user.id, preview.prorationDate);
    return pages.change(query, preview);
  },
  'POST /change': async ({ form }, user) => {
    const subscription = await subscriptionOf(user);
    if (subscription === undefined) return '/';
    const change = { ...changeOf(form), prorationDate: prorationDates.get(user.id) ?? null };
    const { clientSecret } = await till.subscriptions.update(subscription.id, change);
    return clientSecret === null ? '/account' : cardForm(clientSecret, '/account');
  },
  // Every tab gets the same payment, because of its idempotency key.
  'GET /handbook': async (_, user) => {
    const order = { customerId: user.customerId, amount: 4_900, currency: 'eur', description: 'Handbook' };
    user.handbookPaymentId ??= (await till.payments.create(order, { idempotencyKey: user.id })).payment.id;
    save();
    const { clientSecret } = await till.payments.clientSecret(user.handbookPaymentId); // asks Stripe
    const { status } = await till.payments.get(user.handbookPaymentId);
    return status === 'succeeded' ? pages.handbook : cardForm(clientSecret, '/handbook', 'Handbook, €49');
  },
};

function explain(error: unknown): Reply | undefined {
  if (isTillError(error, 'already_subscribed')) return '/account';
  if (isTillError(error, 'checkout_in_progress')) return pages.problem(409, 'You are paying in another tab.');
  const isRefused = isTillError(error) && error.status < 500;
  return isRefused ? pages.problem(409, 'That is not possible now.') : undefined;
}

await serve({ url: SHOP_URL, port: Number(SHOP_PORT), stripeJs: STRIPE_JS, open, members, explain, events });
process.stdout.write(`
  The shop is open at ${SHOP_URL}
  Sign up with any e-mail address and password, and choose a plan.
  Pay with the card 4242 4242 4242 4242, any future date and any CVC.
`);
