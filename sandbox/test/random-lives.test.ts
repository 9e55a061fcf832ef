import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../test/support/seeds.ts';
import type { Due } from '../billing/due.ts';
import { itemIdOf } from '../billing/invoice-item.ts';
import { completeIntent } from '../control/customer.ts';
import { operations } from '../resources/operations.ts';
import { SandboxClock } from '../state/sandbox-clock.ts';
import type { Settings } from '../state/settings.ts';
import type { Store } from '../state/store.ts';
import { Api } from '../wire/api.ts';
import { WireError } from '../wire/wire-error.ts';
import { World as SandboxWorld } from '../worlds/world.ts';

const cards = [
  'pm_card_visa',
  'pm_card_chargeDeclined',
  'pm_card_chargeCustomerFail',
  'pm_card_threeDSecure2Required',
  'pm_card_refundFail',
  'pm_card_pendingRefund',
];
const card = fc.constantFrom(...cards);
const which = fc.nat(20);

/** One step in the life of an account. `which` picks among whatever there is by then. */
const step = fc.oneof(
  fc.record({
    kind: fc.constant('subscribe' as const),
    which,
    trialDays: fc.constantFrom(0, 0, 2, 10),
    behavior: fc.constantFrom('default_incomplete', 'allow_incomplete', 'error_if_incomplete'),
    card: fc.option(card),
    withoutCard: fc.constantFrom('cancel', 'create_invoice', 'pause'),
    coupon: fc.constantFrom('', '', 'HALF', 'TWO'),
    others: fc.array(which, { maxLength: 2 }),
    mode: fc.constantFrom('classic', 'flexible'),
  }),
  fc.record({ kind: fc.constant('confirm' as const), which, card }),
  fc.record({ kind: fc.constant('confirmSetup' as const), which, card }),
  fc.record({ kind: fc.constant('authenticate' as const), which, succeeded: fc.boolean() }),
  fc.record({ kind: fc.constant('advance' as const), hours: fc.integer({ min: 1, max: 900 }) }),
  fc.record({ kind: fc.constant('advance' as const), hours: fc.integer({ min: 1, max: 900 }) }),
  fc.record({ kind: fc.constant('cancel' as const), which }),
  fc.record({ kind: fc.constant('cancelAtPeriodEnd' as const), which }),
  fc.record({ kind: fc.constant('cancelByDate' as const), which, periods: fc.integer({ min: 0, max: 2 }) }),
  fc.record({ kind: fc.constant('swapCard' as const), which, card }),
  fc.record({
    kind: fc.constantFrom('swapPrice' as const, 'swapPrice' as const, 'preview' as const),
    which,
    price: which,
    item: fc.nat(3),
    other: fc.constantFrom('', '', 'add', 'remove'),
    quantity: fc.integer({ min: 0, max: 3 }),
    proration: fc.constantFrom('always_invoice', 'create_prorations', 'none'),
    behavior: fc.constantFrom(
      'allow_incomplete',
      'default_incomplete',
      'error_if_incomplete',
      'pending_if_incomplete',
      'pending_if_incomplete',
    ),
    resets: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('pay' as const), which, card }),
  fc.record({ kind: fc.constant('void' as const), which }),
  fc.record({ kind: fc.constant('refund' as const), which, amount: fc.integer({ min: 1, max: 2_000 }) }),
  fc.record({ kind: fc.constant('deleteCustomer' as const), which }),
  fc.record({ kind: fc.constant('addItem' as const), which, amount: fc.integer({ min: -900, max: 2_000 }) }),
  fc.record({ kind: fc.constant('addItem' as const), which, amount: fc.integer({ min: -900, max: 2_000 }) }),
  fc.record({ kind: fc.constant('deleteItem' as const), which }),
  fc.record({
    kind: fc.constant('invoice' as const),
    which,
    advances: fc.boolean(),
    pending: fc.constantFrom('exclude', 'include'),
    collection: fc.constantFrom('', '&collection_method=send_invoice&days_until_due=3'),
  }),
  fc.record({
    kind: fc.constant('changeInvoice' as const),
    which,
    change: fc.constantFrom('delete', 'finalize', 'mark_uncollectible', 'send'),
  }),
  fc.record({
    kind: fc.constant('changeSubscription' as const),
    which,
    change: fc.constantFrom(
      'pause_collection[behavior]=void',
      'pause_collection[behavior]=keep_as_draft',
      'pause_collection[behavior]=mark_uncollectible',
      'pause_collection=',
      'trial_end=now',
      'discounts[0][coupon]=HALF',
      'discounts[0][coupon]=ONE&discounts[1][coupon]=TWO',
      'discounts=',
    ),
  }),
  fc.record({
    kind: fc.constant('schedule' as const),
    which,
    name: fc.constantFrom('trial_end', 'pause_collection[behavior]=void&pause_collection[resumes_at]'),
    hours: fc.integer({ min: 1, max: 900 }),
  }),
  fc.record({ kind: fc.constant('startSchedule' as const), which }),
  fc.record({ kind: fc.constant('planPhase' as const), which, price: which, hours: fc.nat(900) }),
  fc.record({
    kind: fc.constant('endSchedule' as const),
    which,
    how: fc.constantFrom('release', 'release', 'cancel'),
  }),
  fc.record({
    kind: fc.constant('resume' as const),
    which,
    anchor: fc.constantFrom('now', 'unchanged'),
    behavior: fc.constantFrom('resume_on_payment_attempt', 'resume_on_payment_success'),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface World {
  readonly store: Store;
  readonly due: Due;
  /** Calls the wire API; a refusal is an expected response, a failure is not. */
  call(method: string, path: string, form?: string): Promise<string>;
}

async function createWorld(settings: Partial<Settings>): Promise<World> {
  const world = new SandboxWorld({
    accountId: 'acct_sandbox',
    url: () => '',
    basePath: '',
    clock: new SandboxClock(() => 1_800_000_000_000),
    log: (_level, fields, message) => assert.fail(`${message} ${JSON.stringify(fields)}`),
  });
  const { store, due } = world;
  store.changeSettings(settings);
  const api = new Api({
    worlds: { default: world, open: () => world },
    operations,
    logError: ({ error }: { error?: unknown }) => assert.fail(error as Error),
  });
  const call: World['call'] = async (method, path, body = '') => {
    const response = await api.respond({
      method,
      path: `/v1/${path}`,
      query: '',
      body,
      authorization: 'Bearer sk_test_x',
      idempotencyKey: undefined,
      version: undefined,
      gone: new Promise(() => {}),
    });
    assert.ok(response !== null && [200, 400, 402, 404].includes(response.status), JSON.stringify(response));
    return 'id' in response.body ? String(response.body.id) : '';
  };
  for (let count = 0; count < 2; count++) await call('POST', 'customers', 'email=a@example.com');
  for (const [amount, interval] of [
    [1_000, 'month'],
    [300, 'week'],
    [0, 'month'],
    [9_000, 'year'],
  ] as const)
    await call(
      'POST',
      'prices',
      `currency=usd&unit_amount=${amount}&recurring[interval]=${interval}&product_data[name]=P`,
    );
  await call(
    'POST',
    'prices',
    'currency=usd&billing_scheme=tiered&tiers_mode=graduated&tiers[0][up_to]=1&tiers[0][unit_amount]=900&tiers[1][up_to]=inf&tiers[1][unit_amount]=700&recurring[interval]=month&product_data[name]=P',
  );
  const meter = await call(
    'POST',
    'billing/meters',
    'display_name=M&event_name=m&default_aggregation[formula]=sum',
  );
  await call(
    'POST',
    'prices',
    `currency=usd&unit_amount=5&recurring[interval]=month&recurring[usage_type]=metered&recurring[meter]=${meter}&product_data[name]=P`,
  );
  await call('POST', 'coupons', 'id=HALF&percent_off=50&duration=forever');
  await call('POST', 'coupons', 'id=ONE&percent_off=33.3&duration=once');
  await call('POST', 'coupons', 'id=TWO&amount_off=700&currency=usd&duration=repeating&duration_in_months=2');
  return { store, due, call };
}

async function take(world: World, action: Step): Promise<unknown> {
  const { store, due, call } = world;
  const pick = (values: Iterable<{ readonly id: string }>): string => {
    const all = [...values];
    return all.length === 0 || !('which' in action) ? 'none' : (all[action.which % all.length]?.id ?? 'none');
  };
  const subscription = pick(store.subscriptions.values());
  const invoice = pick(store.invoices.values());
  const intent = pick(store.paymentIntents.values());
  const setup = pick(store.setupIntents.values());
  switch (action.kind) {
    case 'subscribe':
      return subscribe(world, pick(store.customers.values()), pick(store.prices.values()), action);
    case 'confirm':
      return call('POST', `payment_intents/${intent}/confirm`, `payment_method=${action.card}`);
    case 'confirmSetup':
      return call('POST', `setup_intents/${setup}/confirm`, `payment_method=${action.card}`);
    case 'authenticate': {
      const intents = [...store.paymentIntents.values(), ...store.setupIntents.values()];
      return authenticate(
        store,
        pick(intents.filter(({ status }) => status === 'requires_action')),
        action.succeeded,
      );
    }
    case 'advance':
      return due.advanceTo(store.now() + action.hours * 3_600);
    case 'cancel':
      return call('DELETE', `subscriptions/${subscription}`);
    case 'cancelAtPeriodEnd':
      return call('POST', `subscriptions/${subscription}`, 'cancel_at_period_end=true');
    case 'cancelByDate': {
      const item = store.subscriptions.get(subscription)?.items.data[0];
      const { current_period_start: start = 0, current_period_end: end = 0 } = item ?? {};
      const at = action.periods === 0 ? '' : end + (action.periods - 1) * (end - start);
      return call('POST', `subscriptions/${subscription}`, `cancel_at=${at}`);
    }
    case 'swapCard': {
      const method = await attached(
        world,
        action.card,
        store.subscriptions.get(subscription)?.customer ?? 'none',
      );
      return call('POST', `subscriptions/${subscription}`, `default_payment_method=${method}`);
    }
    case 'swapPrice':
    case 'preview':
      return changePrice(world, subscription, action);
    case 'pay':
      return call('POST', `invoices/${invoice}/pay`, `payment_method=${action.card}`);
    case 'void':
      return call('POST', `invoices/${invoice}/void`);
    case 'refund':
      return call('POST', 'refunds', `payment_intent=${intent}&amount=${action.amount}`);
    case 'deleteCustomer':
      // The first customer stays, so that lives go on.
      return action.which % 4 === 0
        ? call('DELETE', `customers/${pick([...store.customers.values()].slice(1))}`)
        : null;
    case 'addItem': {
      const draft = store.invoices.get(invoice);
      const target =
        draft?.status === 'draft' && action.which % 2 === 0
          ? `customer=${draft.customer}&invoice=${draft.id}`
          : `customer=${pick(store.customers.values())}`;
      return call('POST', 'invoiceitems', `${target}&amount=${action.amount}&currency=usd`);
    }
    case 'deleteItem':
      return call('DELETE', `invoiceitems/${pick(store.invoiceItems.values())}`);
    case 'invoice':
      return call(
        'POST',
        'invoices',
        `customer=${pick(store.customers.values())}&currency=usd&auto_advance=${action.advances}&pending_invoice_items_behavior=${action.pending}${action.collection}`,
      );
    case 'changeInvoice':
      return action.change === 'delete'
        ? call('DELETE', `invoices/${invoice}`)
        : call('POST', `invoices/${invoice}/${action.change}`);
    case 'changeSubscription':
      return call('POST', `subscriptions/${subscription}`, action.change);
    case 'schedule':
      return call(
        'POST',
        `subscriptions/${subscription}`,
        `${action.name}=${store.now() + action.hours * 3_600}`,
      );
    case 'startSchedule':
      return call('POST', 'subscription_schedules', `from_subscription=${subscription}`);
    case 'planPhase':
      return planPhase(world, pick(store.subscriptionSchedules.values()), action);
    case 'endSchedule':
      return call(
        'POST',
        `subscription_schedules/${pick(store.subscriptionSchedules.values())}/${action.how}`,
      );
    case 'resume':
      return call(
        'POST',
        `subscriptions/${subscription}/resume`,
        `billing_cycle_anchor[type]=${action.anchor}&payment_behavior=${action.behavior}`,
      );
  }
}

/** Changes an item, and perhaps adds one or removes the last one, or previews that. */
async function changePrice(
  { store, call }: World,
  subscription: string,
  wish: {
    readonly kind: 'preview' | 'swapPrice';
    readonly price: number;
    readonly item: number;
    readonly other: string;
    readonly quantity: number;
    readonly proration: string;
    readonly behavior: string;
    readonly resets: boolean;
  },
): Promise<unknown> {
  const items = store.subscriptions.get(subscription)?.items.data ?? [];
  const item = items[wish.item % items.length]?.id ?? 'none';
  const priceAt = (index: number) => [...store.prices.values()][index % store.prices.size];
  const price = priceAt(wish.price);
  const change: readonly (readonly [string, string])[] = [
    ['[items][0][id]', item],
    ['[items][0][price]', String(price?.id)],
    ...(price?.recurring?.usage_type === 'metered'
      ? []
      : [['[items][0][quantity]', String(wish.quantity)] as const]),
    ...(wish.other === 'add' ? [['[items][1][price]', String(priceAt(wish.price + 1)?.id)] as const] : []),
    ...(wish.other === 'remove'
      ? [['[items][1][id]', items.at(-1)?.id ?? 'none'] as const, ['[items][1][deleted]', 'true'] as const]
      : []),
    ['[proration_behavior]', wish.proration],
    ...(wish.resets ? [['[billing_cycle_anchor][type]', 'now'] as const] : []),
  ];
  if (wish.kind === 'preview') {
    const before = [store.size, JSON.stringify(store.subscriptions.get(subscription))];
    const form = change.map(([path, value]) => `subscription_details${path}=${value}`);
    await call('POST', 'invoices/create_preview', [`subscription=${subscription}`, ...form].join('&'));
    return assert.deepEqual([store.size, JSON.stringify(store.subscriptions.get(subscription))], before);
  }
  const form = change.map(([path, value]) => `${path.replace(/^\[([a-z_]+)\]/, '$1')}=${value}`);
  return call(
    'POST',
    `subscriptions/${subscription}`,
    [...form, `payment_behavior=${wish.behavior}`].join('&'),
  );
}

async function subscribe(
  world: World,
  customer: string,
  price: string,
  wish: {
    readonly trialDays: number;
    readonly behavior: string;
    readonly card: string | null;
    readonly withoutCard: string;
    readonly coupon: string;
    readonly others: readonly number[];
    readonly mode: string;
  },
): Promise<unknown> {
  const method = wish.card === null ? '' : await attached(world, wish.card, customer);
  return world.call(
    'POST',
    'subscriptions',
    [
      `customer=${customer}&items[0][price]=${price}&trial_period_days=${wish.trialDays}`,
      ...wish.others.map((index, at) => {
        const other = [...world.store.prices.values()][index % world.store.prices.size]?.id;
        return `items[${at + 1}][price]=${other}`;
      }),
      `billing_mode[type]=${wish.mode}`,
      `trial_settings[end_behavior][missing_payment_method]=${wish.withoutCard}`,
      `payment_behavior=${wish.behavior}&payment_settings[save_default_payment_method]=on_subscription`,
      ...(method === '' ? [] : [`default_payment_method=${method}`]),
      ...(wish.coupon === '' ? [] : [`discounts[0][coupon]=${wish.coupon}`]),
    ].join('&'),
  );
}

/** Plans another price for the first item, for the end of the running phase or soon. The other items stay. */
async function planPhase(
  { store, call }: World,
  id: string,
  { which: choice, price, hours }: { readonly which: number; readonly price: number; readonly hours: number },
): Promise<unknown> {
  const schedule = store.subscriptionSchedules.get(id);
  const current = schedule?.phases.find(({ start_date: at }) => at === schedule.current_phase?.start_date);
  const next = [...store.prices.values()][price % store.prices.size]?.id;
  const end = choice % 2 === 0 ? current?.end_date : store.now() + 3_600 * (hours + 1);
  return call(
    'POST',
    `subscription_schedules/${id}`,
    [
      `phases[0][start_date]=${current?.start_date ?? 0}&phases[0][end_date]=${end ?? 0}`,
      ...(current?.items ?? []).map((item, index) => `phases[0][items][${index}][price]=${item.price}`),
      ...(current?.trial_end == null ? [] : [`phases[0][trial_end]=${current.trial_end}`]),
      `phases[1][items][0][price]=${next}&phases[1][discounts][0][coupon]=HALF`,
      ...(current?.items ?? [])
        .slice(1)
        .map((item, index) => `phases[1][items][${index + 1}][price]=${item.price}`),
      ...(choice % 3 === 0 ? ['end_behavior=cancel'] : []),
    ].join('&'),
  );
}

async function attached({ call }: World, name: string, customer: string): Promise<string> {
  return call('POST', `payment_methods/${name}/attach`, `customer=${customer}`);
}

function authenticate(store: Store, id: string, succeeded: boolean): void {
  try {
    store.transact(null, () => completeIntent(store, id, succeeded));
  } catch (error) {
    assert.ok(error instanceof WireError);
  }
}

/** What must hold whatever was done. */
function checkBooks(store: Store): void {
  const last = new Map<string, unknown>();
  let latest = 0;
  for (const event of store.events.values()) {
    assert.ok(event.created >= latest, 'events are in order of time');
    latest = event.created;
    if ('status' in event.subject) last.set(event.subject.id, event.subject.status);
  }
  for (const collection of [
    store.paymentIntents,
    store.subscriptions,
    store.invoices,
    store.refunds,
    store.setupIntents,
    store.subscriptionSchedules,
  ])
    for (const { id, status } of collection.values())
      assert.equal(last.get(id), status, `the last event about ${id} shows its status`);

  for (const invoice of store.invoices.values()) {
    const intents = store.invoicePayments
      .allWithin('invoice', invoice.id)
      .map(({ payment }) => payment.payment_intent);
    const received = intents.reduce(
      (sum, id) => sum + (store.paymentIntents.get(id)?.amount_received ?? 0),
      0,
    );
    assert.equal(received, invoice.amount_paid, 'an invoice counts as paid what its payment received');
    assert.equal(invoice.status === 'paid' ? invoice.amount_due : 0, invoice.amount_paid);
    assert.equal(invoice.amount_paid + invoice.amount_remaining, invoice.amount_due);
    const billed = invoice.lines.data.reduce((sum, line) => sum + line.amount, 0);
    const off = (invoice.total_discount_amounts ?? []).reduce((sum, { amount }) => sum + amount, 0);
    const owed = billed - off + invoice.starting_balance;
    assert.deepEqual([invoice.total, invoice.amount_due], [billed - off, Math.max(0, owed)]);
    assert.equal(invoice.ending_balance, invoice.status === 'draft' ? null : Math.min(0, owed));
    const charged = invoice.lines.data.reduce((sum, line) => sum + Math.max(0, line.amount), 0);
    assert.ok(off <= charged, 'a discount never exceeds what is charged');
    const items = invoice.lines.data.flatMap((line) => itemIdOf(line) ?? []);
    assert.deepEqual(
      items.sort(),
      store.invoiceItems
        .allWithin('invoice', invoice.id)
        .map(({ id }) => id)
        .sort(),
      'the items of an invoice are its lines',
    );
  }
  for (const customer of store.customers.values()) {
    if (customer.deleted) continue;
    const finals = store.invoices
      .allWithin('customer', customer.id)
      .filter(({ status }) => status !== 'draft' && status !== 'void');
    const used = finals.reduce(
      (sum, { starting_balance, ending_balance }) => sum + (ending_balance ?? 0) - starting_balance,
      0,
    );
    assert.equal(customer.balance, used, 'a balance is what its invoices took and gave');
  }
  for (const charge of store.charges.values()) {
    const refunds = store.refunds.allWithin('charge', charge.id).filter(({ status }) => status !== 'failed');
    assert.equal(
      refunds.reduce((sum, { amount }) => sum + amount, 0),
      charge.amount_refunded,
    );
    assert.ok(charge.amount_refunded <= charge.amount);
  }
  for (const subscription of store.subscriptions.values()) {
    const ended = subscription.status === 'canceled' || subscription.status === 'incomplete_expired';
    assert.equal(subscription.ended_at !== null, ended);
    const latestInvoice = store.invoices.get(subscription.latest_invoice ?? '');
    if (subscription.status === 'incomplete')
      assert.ok(latestInvoice?.status === 'open' || latestInvoice?.status === 'uncollectible');
    assert.equal(subscription.status_details !== undefined, subscription.status === 'paused');
    const schedule = store.subscriptionSchedules.get(subscription.schedule ?? '');
    assert.equal(schedule?.status, subscription.schedule === null ? undefined : 'active');
    if (schedule !== undefined) assert.equal(schedule.subscription, subscription.id);
    if (subscription.pending_update !== null) {
      assert.ok(
        !ended && subscription.pending_update.expires_at > store.now(),
        'an update does not wait too long',
      );
      assert.ok(latestInvoice?.status === 'open' || latestInvoice?.status === 'uncollectible');
    }
    if (ended || subscription.status === 'paused') continue;
    if (schedule !== undefined)
      assert.ok((schedule.current_phase?.end_date ?? 0) > store.now(), 'a phase that is over has ended');
    for (const id of subscription.discounts)
      assert.ok((store.discounts.get(id)?.end ?? Number.POSITIVE_INFINITY) > store.now(), 'a discount ends');
    const items = subscription.items.data;
    assert.equal(new Set(items.map(({ price }) => price.id)).size, items.length, 'a price is in one item');
    for (const { price, quantity, current_period_end: end } of items) {
      assert.equal(quantity === undefined, price.recurring?.usage_type === 'metered');
      if (subscription.status !== 'incomplete')
        assert.ok(end > store.now(), 'a period that is over has been renewed');
    }
  }
}

test('whatever people do, in whatever order, the books balance and the events match the objects', async () => {
  await assertProperty(
    fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }),
      fc.record({
        afterDunning: fc.constantFrom('cancel' as const, 'unpaid' as const, 'pause' as const),
        firstFailure: fc.constantFrom('past_due' as const, 'past_due' as const, 'pause' as const),
        resumption: fc.constantFrom('manual' as const, 'keep_anchor' as const, 'reset_anchor' as const),
      }),
      async (steps, settings) => {
        const world = await createWorld(settings);
        try {
          for (const action of steps) {
            await take(world, action);
            checkBooks(world.store);
          }
        } finally {
          await world.due.close();
        }
      },
    ),
    150,
  );
});
