import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import fc from 'fast-check';
import { newestInvoice, type Subscribed, subscribed, useCard } from '../support/changes.ts';
import { readJson } from '../support/client.ts';
import { createMeteredPrice, type PlanBody } from '../support/objects.ts';
import { endSubscriptions } from '../support/past-due.ts';
import { assertProperty } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;
beforeEach(() => endSubscriptions(till));

/** A renewal is a draft for an hour before it is charged. */
const afterRenewalSeconds = 2 * 3_600;

/** Moves the clock, and returns its time in seconds. */
async function moveClock(advanceSeconds: number): Promise<number> {
  const { now } = Object(await till.control('clock', { advanceSeconds }));
  return Number(now);
}

const planArbitrary = fc.record({
  amount: fc.oneof(fc.integer({ min: 100, max: 20_000 }), fc.constantFrom(0, 999, 100_001)),
  interval: fc.constantFrom('month', 'month', 'year', 'week'),
  intervalCount: fc.integer({ min: 1, max: 3 }),
});

/** A change of plans or quantities. Null: as the subscription has it now. */
const termsArbitrary = fc.record({
  plan: fc.constantFrom('from', 'to', null),
  quantity: fc.option(fc.integer({ min: 1, max: 9 })),
  /** Which list of add-ons. */
  addOns: fc.constantFrom(0, 1, null),
});
const unchanged = { plan: null, quantity: null, addOns: null } as const;
const changeArbitrary = fc.record({
  terms: fc.oneof({ weight: 3, arbitrary: termsArbitrary }, fc.constant(unchanged)),
  when: fc.constantFrom('now', 'now', 'periodEnd'),
  proration: fc.constantFrom('nextInvoice', 'invoice', 'none'),
});

/**
 * What happens to the subscription before the preview, so that a change is planned, waits for its payment, or neither.
 */
const eventArbitrary = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('plan'), terms: termsArbitrary }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait'), quantity: fc.integer({ min: 20, max: 29 }) }),
  },
  fc.record({ kind: fc.constant('change'), change: changeArbitrary }),
  fc.record({ kind: fc.constant('end'), cancelAtPeriodEnd: fc.boolean() }),
  /** Elsewhere: a schedule that plans nothing, as one that an abandoned request has left. */
  fc.record({ kind: fc.constant('schedule') }),
  fc.record({
    kind: fc.constant('discount'),
    duration: fc.constantFrom('forever', 'once', 'once'),
    isLimited: fc.boolean(),
    ofCustomer: fc.boolean(),
  }),
  /** Elsewhere, so that Till has not restored yet what the invoice of a waiting change has taken. */
  fc.record({ kind: fc.constant('void') }),
  fc.record({ kind: fc.constant('renew') }),
);

const caseArbitrary = fc.record({
  currency: fc.constantFrom('eur', 'usd', 'jpy', 'kwd'),
  from: planArbitrary,
  to: planArbitrary,
  /** Amounts of add-ons, and their quantities in two lists. 0: it is not there. */
  addOns: fc.array(
    fc.record({
      amount: fc.integer({ min: 100, max: 9_999 }),
      quantities: fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 4 })),
    }),
    { maxLength: 4 },
  ),
  isMetered: fc.boolean(),
  quantity: fc.integer({ min: 1, max: 9 }),
  events: fc.array(eventArbitrary, { maxLength: 3 }),
  change: changeArbitrary,
  /** How far into the period the preview is, and how long the change follows after it. */
  elapsed: fc.double({ min: 0, max: 0.9, noNaN: true }),
  hesitation: fc.integer({ min: 0, max: 7_200 }),
  /** A fee or a credit, and a balance of the customer, which the invoice of a change that waits takes. */
  taken: fc.option(
    fc.record({
      amount: fc.integer({ min: -3_000, max: 3_000 }),
      balance: fc.integer({ min: -3_000, max: 3_000 }),
    }),
  ),
  discount: fc.oneof(
    fc.record({ percent_off: fc.integer({ min: 1, max: 100 }) }),
    fc.record({ amount_off: fc.integer({ min: 1, max: 3_000 }) }),
  ),
});

type Case = typeof caseArbitrary extends fc.Arbitrary<infer Value> ? Value : never;
type Event = Case['events'][number];
type Terms = Case['change']['terms'];

/** Amounts of a currency with three decimals end in 0. */
function unitOf(currency: string): number {
  return currency === 'kwd' ? 10 : 1;
}

interface Sold {
  readonly plan: PlanBody;
  readonly addOns: readonly PlanBody[];
}

/** Two plans, each with the add-ons of its interval. */
async function sell({ currency, from, to, addOns }: Case): Promise<Record<'from' | 'to', Sold>> {
  const create = (terms: Case['from'], more: object = {}): Promise<PlanBody> => {
    const plan = { name: 'Random', currency, ...terms, amount: terms.amount * unitOf(currency), ...more };
    return call('POST', '/plans', plan).then((response) => readJson(response, 201));
  };
  const createAll = (terms: Case['from']) =>
    Promise.all(addOns.map(({ amount }) => create({ ...terms, amount }, { addOn: true })));
  const isOther = to.interval !== from.interval || to.intervalCount !== from.intervalCount;
  const ofFrom = await createAll(from);
  return {
    from: { plan: await create(from), addOns: ofFrom },
    to: { plan: await create(to), addOns: isOther ? await createAll(to) : ofFrom },
  };
}

/** The request for these terms, which names all of them. */
function bodyOf(
  { plan: wanted, quantity, addOns: list }: Terms,
  now: Awaited<ReturnType<Subscribed['read']>>,
  sold: Awaited<ReturnType<typeof sell>>,
  given: Case,
) {
  const current = now.planId === sold.from.plan.id ? 'from' : 'to';
  const { plan, addOns } = sold[wanted ?? current];
  const isSameList = list === null && (wanted === null || sold[current].addOns === addOns);
  return {
    planId: plan.id,
    quantity: quantity ?? now.quantity,
    addOns: isSameList ? now.addOns : listOf(sold[wanted ?? current], list ?? 0, given),
  };
}

function listOf({ addOns: plans }: Sold, list: 0 | 1, { addOns }: Case) {
  return addOns.flatMap(({ quantities }, at) => {
    const [planId, quantity] = [plans[at]?.id ?? '', quantities[list]];
    return quantity === 0 ? [] : [{ planId, quantity }];
  });
}

const timingOf = ({ when, proration }: Case['change']) => (when === 'now' ? { proration } : { when });

/** The customer owes a fee, and has a balance. */
async function owe({ subscription }: Subscribed, { taken, currency }: Case): Promise<void> {
  if (taken === null) return;
  const [amount, balance] = [taken.amount * unitOf(currency), taken.balance * unitOf(currency)];
  const { customer } = await stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
  await stripe.invoiceItems.create({ customer: String(customer), amount, currency });
  await stripe.customers.update(String(customer), { balance });
}

async function renew({ read }: Subscribed): Promise<void> {
  const { currentPeriodEnd } = await read();
  const now = await moveClock(0);
  await moveClock(Date.parse(String(currentPeriodEnd)) / 1_000 - now + afterRenewalSeconds);
  await till.settle();
}

async function happen(
  event: Event,
  given: Case,
  one: Subscribed,
  sold: Awaited<ReturnType<typeof sell>>,
): Promise<void> {
  const { subscription, change, read } = one;
  const id = subscription.processorSubscriptionId;
  const now = await read();
  // An end is refused with a change, and the other way around.
  const request = async (body: object) => assert.ok([200, 409].includes((await change(body)).status));
  if ('terms' in event) return request({ ...bodyOf(event.terms, now, sold, given), when: 'periodEnd' });
  if ('change' in event) {
    const { change: wanted } = event;
    return request({ ...bodyOf(wanted.terms, now, sold, given), ...timingOf(wanted) });
  }
  if ('quantity' in event) {
    await useCard(till, subscription, 'pm_card_authenticationRequired');
    await request({ quantity: event.quantity, proration: 'invoice' });
    return useCard(till, subscription, 'pm_card_visa');
  }
  if ('cancelAtPeriodEnd' in event) return request({ cancelAtPeriodEnd: event.cancelAtPeriodEnd });
  if (event.kind === 'renew') return now.cancelAtPeriodEnd ? undefined : renew(one);
  if (event.kind === 'schedule') {
    if ((await stripe.subscriptions.retrieve(id)).schedule === null)
      await stripe.subscriptionSchedules.create({ from_subscription: id });
    return;
  }
  if ('duration' in event) return reduce(event, given, id);
  const invoice = await newestInvoice(till, subscription);
  if (now.pendingChange?.at === null && invoice.status === 'open')
    await stripe.invoices.voidInvoice(String(invoice.id));
}

/** The subscription, or its customer, gets a discount. */
async function reduce(
  { duration, isLimited, ofCustomer }: Extract<Event, { duration: string }>,
  { discount, currency }: Case,
  id: string,
): Promise<void> {
  const off = 'amount_off' in discount ? { amount_off: discount.amount_off * unitOf(currency) } : discount;
  const limit = isLimited ? { max_redemptions: 1 } : {};
  const { id: coupon } = await stripe.coupons.create({ ...off, ...limit, duration, currency });
  if (!ofCustomer) await stripe.subscriptions.update(id, { discounts: [{ coupon }] });
  else {
    const { customer } = await stripe.subscriptions.retrieve(id);
    const older = { apiVersion: '2025-02-24.acacia' };
    await stripe.rawRequest('POST', `/v1/customers/${String(customer)}`, { coupon }, older);
  }
}

/** A subscription to the first plan, with some of the period behind it. */
async function start(given: Case, sold: Awaited<ReturnType<typeof sell>>): Promise<Subscribed> {
  const { currency, from, quantity, elapsed } = given;
  const addOns = listOf(sold.from, 0, given);
  const one = await subscribed(till, { planId: sold.from.plan.id, customerCard: 'pm_card_visa', addOns });
  // Metered prices are monthly here, and a change of the interval is refused while there is one.
  const isMonthly = from.interval === 'month' && from.intervalCount === 1;
  if (given.isMetered && isMonthly && sold.to.addOns === sold.from.addOns) {
    const items = [{ price: await createMeteredPrice(till, { currency }) }];
    await stripe.subscriptions.update(one.subscription.processorSubscriptionId, { items });
  }
  const { subscription: started } = await one.changed({ quantity, proration: 'none' });
  const seconds = (time: string | null) => Date.parse(String(time)) / 1_000;
  const period = seconds(started.currentPeriodEnd) - seconds(started.currentPeriodStart);
  await moveClock(Math.floor(period * elapsed));
  await owe(one, given);
  return one;
}

const amountsOf = (lines: readonly { readonly amount: number }[]) =>
  lines.map(({ amount }) => amount).toSorted((a, b) => a - b);

test('a change of up to five plans bills what its preview shows, to the cent, whatever is pending', async () => {
  await assertProperty(
    fc.asyncProperty(caseArbitrary, async (given) => {
      const { change, hesitation } = given;
      const sold = await sell(given);
      const one = await start(given, sold);
      const { subscription, changed, previewed, read } = one;
      for (const event of given.events) await happen(event, given, one, sold);
      const now = await read();
      if (change.when === 'periodEnd' && now.cancelAtPeriodEnd) return;
      const body = { ...bodyOf(change.terms, now, sold, given), ...timingOf(change) };
      const { prorationDate, ...preview } = await previewed(body);
      assert.deepEqual(await read(), now);
      assert.equal(prorationDate === null, change.when === 'periodEnd' || change.proration === 'none');
      const { id: lastInvoiceId } = await newestInvoice(till, subscription);
      await moveClock(hesitation);
      const { subscription: after } = await changed(
        prorationDate === null ? body : { ...body, prorationDate },
      );
      const { planId, quantity, addOns } = change.when === 'now' ? after : (after.pendingChange ?? after);
      const ordered = body.addOns.toSorted((a, b) => (a.planId < b.planId ? -1 : 1));
      const wanted = { planId: body.planId, quantity: body.quantity, addOns: ordered };
      assert.deepEqual({ planId, quantity, addOns }, wanted);
      assert.equal(preview.billedNow, (await newestInvoice(till, subscription)).id !== lastInvoiceId);
      if (!preview.billedNow) await renew(one);
      const invoice = await newestInvoice(till, subscription);
      // A subscription that ends with its period may have nothing more to bill.
      const isLast = invoice.id === lastInvoiceId;
      assert.equal(preview.amountDue, isLast ? 0 : invoice.amount_due);
      assert.deepEqual(amountsOf(preview.lines), isLast ? [] : amountsOf(invoice.lines.data));
      if (isLast) assert.ok(now.cancelAtPeriodEnd);
      else assert.equal(invoice.status, 'paid');
      const amounts = [preview.amountDue, ...amountsOf(preview.lines)];
      assert.ok(amounts.every((amount) => amount % unitOf(given.currency) === 0));
      await call('DELETE', `/subscriptions/${subscription.id}`);
    }),
    { short: 24, long: 1_000 },
  );
});
