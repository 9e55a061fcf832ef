import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createMetrics } from '#core/platform/metrics.ts';
import type { Processor } from '../../src/processor/port/processor.ts';
import { mapChangeable } from '../../src/processor/stripe/changes/changeable-subscription.ts';
import { createStripeProcessor } from '../../src/processor/stripe/stripe-processor.ts';
import { processorOperations } from '../../src/processor/stripe/wire/operations.ts';
import { eventFixture } from '../fixtures/event-fixture.ts';
import { silentLogger } from '../support/log-capture.ts';
import { startAdapter } from './adapter.ts';
import { respond, startScriptedServer } from './scripted-server.ts';
import {
  customer,
  list,
  localId,
  mark,
  newPayment,
  paymentIntent,
  refund,
  wireError,
} from './wire-objects.ts';

const key = { idempotencyKey: 'key-1' };
const creation = { ...key, id: localId, mark };
const marks = `metadata[till_id]=${localId}&metadata[till_key]=${mark.key}&metadata[till_request]=${mark.request}`;
const captureMarks = `metadata[till_capture_key]=${mark.key}&metadata[till_capture_request]=${mark.request}`;
const since = new Date('2026-01-01T00:10:00Z');

/** The subscription `sub_1` as a change finds it. */
function changeable(values: object) {
  const subscription = JSON.parse(eventFixture('customer.subscription.updated.newer')).data.object;
  return mapChangeable({ ...subscription, id: 'sub_1', ...values }, { earliest: since, latest: since });
}

/** The endpoint that the rate limits of the processor count, according to the table of operations. */
function endpointOf(operation: string): string {
  return Object.entries(processorOperations).find(([name]) => name === operation)?.[1] ?? '';
}

function matches(endpoint: string, request: string): boolean {
  return new RegExp(`^${endpoint.replaceAll('{id}', '\\w+')}$`).test(request);
}

const returnUrl = 'https://shop.example.com/account';
const portalSession = {
  ...{ ...key, processorCustomerId: 'cus_1', processorConfigurationId: 'bpc_1', returnUrl },
};
const portalRequest = `POST /v1/billing_portal/sessions customer=cus_1&configuration=bpc_1&return_url=${returnUrl}`;
const portalReturn = `flow_data[after_completion][type]=redirect&flow_data[after_completion][redirect][return_url]=${returnUrl}`;

/** Each call of the port, and the request that it must be on the wire. */
const calls: readonly [string, (processor: Processor) => Promise<unknown>, string, string | undefined][] = [
  [
    'portal.createSession',
    ({ portal }) => portal.createSession({ ...portalSession, locale: 'de' }),
    `${portalRequest}&locale=de`,
    'key-1',
  ],
  [
    'portal.createSession to change the card',
    ({ portal }) => portal.createSession({ ...portalSession, flow: { kind: 'paymentMethod' } }),
    `${portalRequest}&flow_data[type]=payment_method_update&${portalReturn}`,
    'key-1',
  ],
  [
    'portal.createSession to cancel',
    ({ portal }) =>
      portal.createSession({ ...portalSession, flow: { kind: 'cancel', processorSubscriptionId: 'sub_1' } }),
    `${portalRequest}&flow_data[type]=subscription_cancel&flow_data[subscription_cancel][subscription]=sub_1&${portalReturn}`,
    'key-1',
  ],
  [
    'portal.createConfiguration',
    ({ portal }) => portal.createConfiguration(key),
    'POST /v1/billing_portal/configurations name=Till&features[payment_method_update][enabled]=true&features[invoice_history][enabled]=true&features[customer_update][enabled]=true&features[customer_update][allowed_updates][0]=address&features[subscription_cancel][enabled]=true&features[subscription_cancel][mode]=at_period_end&features[subscription_update][enabled]=false&metadata[till_portal]=1',
    'key-1',
  ],
  [
    'portal.listConfigurations',
    ({ portal }) => portal.listConfigurations(),
    'GET /v1/billing_portal/configurations limit=100',
    undefined,
  ],
  [
    'customers.create',
    ({ customers }) => customers.create({ ...creation, email: 'a@example.com', name: 'A', phone: null }),
    `POST /v1/customers email=a@example.com&name=A&${marks}`,
    'key-1',
  ],
  [
    'customers.update',
    ({ customers }) => customers.update({ ...key, processorCustomerId: 'cus_1', name: null }),
    'POST /v1/customers/cus_1 name=',
    'key-1',
  ],
  ['customers.read', ({ customers }) => customers.read('cus_1'), 'GET /v1/customers/cus_1 ', undefined],
  // An idempotency key has no meaning on DELETE.
  [
    'customers.delete',
    ({ customers }) => customers.delete('cus_1'),
    'DELETE /v1/customers/cus_1 ',
    undefined,
  ],
  [
    'customers.find',
    ({ customers }) => customers.find({ mark, since }),
    `GET /v1/customers/search query=metadata['till_key']:'${mark.key}'&limit=10`,
    undefined,
  ],
  [
    'events.findDeletedCustomer',
    ({ events }) => events.findDeletedCustomer({ localId }),
    'GET /v1/events type=customer.deleted&limit=100',
    undefined,
  ],
  [
    'plans.create',
    ({ plans }) =>
      plans.create({ ...creation, name: 'Gold', amount: 900, currency: 'eur', interval: 'month' }),
    `POST /v1/prices currency=eur&unit_amount=900&recurring[interval]=month&product_data[name]=Gold&product_data[metadata][till_id]=${localId}&${marks}&metadata[till_repeatable]=false&expand[0]=product`,
    'key-1',
  ],
  ['plans.read', ({ plans }) => plans.read('price_1'), 'GET /v1/prices/price_1 expand[0]=product', undefined],
  [
    'plans.archive',
    ({ plans }) => plans.archive({ ...key, processorPriceId: 'price_1', processorProductId: 'prod_1' }),
    'POST /v1/prices/price_1 active=false',
    'key-1:price',
  ],
  [
    'plans.find',
    ({ plans }) => plans.find({ mark, since }),
    `GET /v1/prices/search query=metadata['till_key']:'${mark.key}'&limit=10`,
    undefined,
  ],
  [
    'payments.create',
    ({ payments }) => payments.create(newPayment),
    `POST /v1/payment_intents customer=cus_1&amount=2000&currency=eur&automatic_payment_methods[enabled]=true&${marks}`,
    'key-1',
  ],
  [
    'payments.create off-session',
    ({ payments }) =>
      payments.create({
        ...newPayment,
        ...{ description: 'Order', captureMethod: 'manual', paymentMethodId: 'pm_1', offSession: true },
      }),
    `POST /v1/payment_intents customer=cus_1&amount=2000&currency=eur&automatic_payment_methods[enabled]=true&automatic_payment_methods[allow_redirects]=never&${marks}&description=Order&capture_method=manual&payment_method=pm_1&confirm=true&off_session=true&expand[0]=latest_charge`,
    'key-1',
  ],
  [
    'payments.create that saves the payment method',
    ({ payments }) => payments.create({ ...newPayment, savePaymentMethod: true }),
    `POST /v1/payment_intents customer=cus_1&amount=2000&currency=eur&automatic_payment_methods[enabled]=true&${marks}&setup_future_usage=off_session`,
    'key-1',
  ],
  [
    'payments.read',
    ({ payments }) => payments.read('pi_1'),
    'GET /v1/payment_intents/pi_1 expand[0]=latest_charge.refunds',
    undefined,
  ],
  [
    'payments.capture',
    ({ payments }) => payments.capture({ ...key, processorPaymentIntentId: 'pi_1', mark, amount: 5 }),
    `POST /v1/payment_intents/pi_1/capture amount_to_capture=5&${captureMarks}&expand[0]=latest_charge`,
    'key-1',
  ],
  [
    'payments.capture in full',
    ({ payments }) => payments.capture({ ...key, processorPaymentIntentId: 'pi_1', mark, amount: null }),
    `POST /v1/payment_intents/pi_1/capture ${captureMarks}&expand[0]=latest_charge`,
    'key-1',
  ],
  [
    'payments.findCapture',
    ({ payments }) => payments.findCapture({ processorPaymentIntentId: 'pi_1', mark }),
    'GET /v1/payment_intents/pi_1 expand[0]=latest_charge',
    undefined,
  ],
  [
    'payments.update',
    ({ payments }) =>
      payments.update({ ...key, processorPaymentIntentId: 'pi_1', metadata: { a: '1', b: null } }),
    'POST /v1/payment_intents/pi_1 metadata[a]=1&metadata[b]=&expand[0]=latest_charge',
    'key-1',
  ],
  [
    'payments.cancel',
    ({ payments }) => payments.cancel({ ...key, processorPaymentIntentId: 'pi_1' }),
    'POST /v1/payment_intents/pi_1/cancel ',
    'key-1',
  ],
  [
    'payments.find',
    ({ payments }) => payments.find({ mark, since, processorCustomerId: 'cus_1' }),
    'GET /v1/payment_intents customer=cus_1&created[gte]=1767225900&limit=100',
    undefined,
  ],
  [
    'refunds.create',
    ({ refunds }) =>
      refunds.create({
        ...creation,
        processorPaymentIntentId: 'pi_1',
        amount: 5,
        reason: 'duplicate',
      }),
    `POST /v1/refunds payment_intent=pi_1&amount=5&reason=duplicate&${marks}`,
    'key-1',
  ],
  ['refunds.read', ({ refunds }) => refunds.read('re_1'), 'GET /v1/refunds/re_1 ', undefined],
  [
    'refunds.find',
    ({ refunds }) => refunds.find({ mark, since, processorPaymentIntentId: 'pi_1' }),
    'GET /v1/refunds payment_intent=pi_1&created[gte]=1767225900&limit=100',
    undefined,
  ],
  [
    'refunds.listOfPayment',
    ({ refunds }) => refunds.listOfPayment('pi_1'),
    'GET /v1/refunds payment_intent=pi_1&limit=100',
    undefined,
  ],
  ['disputes.read', ({ disputes }) => disputes.read('du_1'), 'GET /v1/disputes/du_1 ', undefined],
  [
    'disputes.listOfPayment',
    ({ disputes }) => disputes.listOfPayment('pi_1'),
    'GET /v1/disputes payment_intent=pi_1&limit=100',
    undefined,
  ],
  [
    'subscriptions.create',
    ({ subscriptions }) =>
      subscriptions.create({
        ...creation,
        processorCustomerId: 'cus_1',
        processorPriceId: 'price_1',
        trialPeriodDays: 14,
      }),
    `POST /v1/subscriptions customer=cus_1&items[0][price]=price_1&payment_behavior=default_incomplete&payment_settings[save_default_payment_method]=on_subscription&trial_period_days=14&${marks}&expand[0]=latest_invoice.confirmation_secret&expand[1]=pending_setup_intent&expand[2]=discounts.source.coupon&expand[3]=discounts.promotion_code&expand[4]=schedule&expand[5]=latest_invoice.discounts.source.coupon&expand[6]=latest_invoice.discounts.promotion_code`,
    'key-1',
  ],
  [
    'subscriptions.create, with everything',
    ({ subscriptions }) =>
      subscriptions.create({
        ...creation,
        processorCustomerId: 'cus_1',
        processorPriceId: 'price_1',
        quantity: 3,
        trialPeriodDays: 0,
        paymentMethodId: 'pm_1',
        processorPromotionCodeId: 'promo_1',
        trialEndWithoutCard: 'pause',
      }),
    `POST /v1/subscriptions customer=cus_1&items[0][price]=price_1&items[0][quantity]=3&payment_behavior=allow_incomplete&default_payment_method=pm_1&payment_settings[save_default_payment_method]=on_subscription&discounts[0][promotion_code]=promo_1&trial_settings[end_behavior][missing_payment_method]=pause&${marks}&expand[0]=latest_invoice.confirmation_secret&expand[1]=pending_setup_intent&expand[2]=discounts.source.coupon&expand[3]=discounts.promotion_code&expand[4]=schedule&expand[5]=latest_invoice.discounts.source.coupon&expand[6]=latest_invoice.discounts.promotion_code`,
    'key-1',
  ],
  [
    'promotionCodes.find',
    ({ promotionCodes }) => promotionCodes.find({ code: 'SPRING', processorCustomerId: 'cus_1' }),
    'GET /v1/promotion_codes code=SPRING&customer=cus_1&active=true&limit=100',
    undefined,
  ],
  [
    'subscriptions.read',
    ({ subscriptions }) => subscriptions.read('sub_1'),
    'GET /v1/subscriptions/sub_1 expand[0]=latest_invoice.confirmation_secret&expand[1]=pending_setup_intent&expand[2]=discounts.source.coupon&expand[3]=discounts.promotion_code&expand[4]=schedule&expand[5]=latest_invoice.discounts.source.coupon&expand[6]=latest_invoice.discounts.promotion_code',
    undefined,
  ],
  [
    'subscriptions.update',
    ({ subscriptions }) =>
      subscriptions.update({ ...key, processorSubscriptionId: 'sub_1', metadata: { a: '1', b: null } }),
    'POST /v1/subscriptions/sub_1 metadata[a]=1&metadata[b]=&expand[0]=discounts.source.coupon&expand[1]=discounts.promotion_code&expand[2]=schedule&expand[3]=latest_invoice.discounts.source.coupon&expand[4]=latest_invoice.discounts.promotion_code',
    'key-1',
  ],
  [
    'subscriptions.update, its end and its payment method',
    ({ subscriptions }) =>
      subscriptions.update({
        ...{ ...key, processorSubscriptionId: 'sub_1', cancelAtPeriodEnd: false, paymentMethodId: 'pm_1' },
      }),
    'POST /v1/subscriptions/sub_1 cancel_at_period_end=false&default_payment_method=pm_1&expand[0]=discounts.source.coupon&expand[1]=discounts.promotion_code&expand[2]=schedule&expand[3]=latest_invoice.discounts.source.coupon&expand[4]=latest_invoice.discounts.promotion_code',
    'key-1',
  ],
  [
    'subscriptions.update, the date of its end',
    ({ subscriptions }) => subscriptions.update({ ...key, processorSubscriptionId: 'sub_1', cancelAt: null }),
    'POST /v1/subscriptions/sub_1 cancel_at=&expand[0]=discounts.source.coupon&expand[1]=discounts.promotion_code&expand[2]=schedule&expand[3]=latest_invoice.discounts.source.coupon&expand[4]=latest_invoice.discounts.promotion_code',
    'key-1',
  ],
  [
    'subscriptionChanges.changeSettings, the end of a planned subscription',
    ({ subscriptionChanges }) =>
      subscriptionChanges.changeSettings({
        ...{ ...key, isRepeated: false, change: { cancelAtPeriodEnd: false } },
        found: changeable({ schedule: 'sub_sched_1', cancel_at: 2_000_000_000 }),
      }),
    'POST /v1/subscription_schedules/sub_sched_1 end_behavior=release',
    'key-1-schedule',
  ],
  [
    'subscriptionChanges.changeSettings, a cancellation with a reason is taken back',
    ({ subscriptionChanges }) =>
      subscriptionChanges.changeSettings({
        ...{ ...key, isRepeated: false, change: { cancelAtPeriodEnd: false } },
        found: changeable({ schedule: null, cancel_at: null, cancellation_details: { comment: 'price' } }),
      }),
    'POST /v1/subscriptions/sub_1 cancel_at_period_end=false&cancellation_details[comment]=&expand[0]=discounts.source.coupon&expand[1]=discounts.promotion_code&expand[2]=schedule&expand[3]=latest_invoice.discounts.source.coupon&expand[4]=latest_invoice.discounts.promotion_code',
    'key-1-reason',
  ],
  [
    'subscriptionChanges.changeAtPeriodEnd',
    ({ subscriptionChanges }) =>
      subscriptionChanges.changeAtPeriodEnd({
        ...{ ...key, isRepeated: false, found: changeable({ schedule: null }) },
        items: [{ processorItemId: 'si_1', processorPriceId: 'price_2', quantity: 1 }],
        ...{ processorMainItemId: 'si_1', interval: 'month', intervalCount: 1, startsCycle: false },
      }),
    'POST /v1/subscription_schedules from_subscription=sub_1',
    'key-1-schedule',
  ],
  [
    'subscriptionChanges.dropPendingChange',
    ({ subscriptionChanges }) =>
      subscriptionChanges.dropPendingChange({
        ...{ ...key, isRepeated: false, which: 'all' },
        found: changeable({ schedule: 'sub_sched_1' }),
      }),
    'POST /v1/subscription_schedules/sub_sched_1/release preserve_cancel_date=true',
    'key-1-release',
  ],
  [
    'subscriptionChanges.listPlannings',
    ({ subscriptionChanges }) => subscriptionChanges.listPlannings('cus_1'),
    'GET /v1/subscriptions customer=cus_1&expand[0]=data.schedule&limit=100',
    undefined,
  ],
  [
    'subscriptions.readToPay',
    ({ subscriptions }) => subscriptions.readToPay('sub_1'),
    'GET /v1/invoices subscription=sub_1&limit=100',
    undefined,
  ],
  [
    'subscriptions.cancel',
    ({ subscriptions }) => subscriptions.cancel('sub_1'),
    'DELETE /v1/subscriptions/sub_1 expand[0]=discounts.source.coupon&expand[1]=discounts.promotion_code&expand[2]=schedule&expand[3]=latest_invoice.discounts.source.coupon&expand[4]=latest_invoice.discounts.promotion_code',
    undefined,
  ],
  [
    'subscriptions.cancel, with a reason',
    ({ subscriptions }) => subscriptions.cancel('sub_1', 'price'),
    'DELETE /v1/subscriptions/sub_1 cancellation_details[comment]=price&expand[0]=discounts.source.coupon&expand[1]=discounts.promotion_code&expand[2]=schedule&expand[3]=latest_invoice.discounts.source.coupon&expand[4]=latest_invoice.discounts.promotion_code',
    undefined,
  ],
  [
    'subscriptions.find',
    ({ subscriptions }) => subscriptions.find({ mark, since, processorCustomerId: 'cus_1' }),
    'GET /v1/subscriptions status=all&customer=cus_1&created[gte]=1767225900&limit=100',
    undefined,
  ],
  ['invoices.read', ({ invoices }) => invoices.read('in_1'), 'GET /v1/invoices/in_1 ', undefined],
  [
    'invoices.finalize',
    ({ invoices }) => invoices.finalize({ ...key, processorInvoiceId: 'in_1' }),
    'POST /v1/invoices/in_1/finalize auto_advance=false',
    'key-1',
  ],
  [
    'paymentMethods.setUp',
    ({ paymentMethods }) => paymentMethods.setUp({ ...creation, processorCustomerId: 'cus_1' }),
    `POST /v1/setup_intents customer=cus_1&usage=off_session&automatic_payment_methods[enabled]=true&${marks}`,
    'key-1',
  ],
  [
    'paymentMethods.findSetup',
    ({ paymentMethods }) => paymentMethods.findSetup({ mark, since, processorCustomerId: 'cus_1' }),
    'GET /v1/setup_intents customer=cus_1&created[gte]=1767225900&limit=100',
    undefined,
  ],
  [
    'paymentMethods.list',
    ({ paymentMethods }) => paymentMethods.list('cus_1'),
    'GET /v1/payment_methods customer=cus_1&limit=100',
    undefined,
  ],
  [
    'paymentMethods.read',
    ({ paymentMethods }) => paymentMethods.read('pm_1'),
    'GET /v1/payment_methods/pm_1 ',
    undefined,
  ],
  [
    'paymentMethods.readDefault',
    ({ paymentMethods }) => paymentMethods.readDefault('cus_1'),
    'GET /v1/customers/cus_1 ',
    undefined,
  ],
  [
    'paymentMethods.listUses',
    ({ paymentMethods }) => paymentMethods.listUses('cus_1'),
    'GET /v1/subscriptions customer=cus_1&status=all&expand[0]=data.schedule&limit=100',
    undefined,
  ],
  [
    'paymentMethods.setDefault',
    ({ paymentMethods }) =>
      paymentMethods.setDefault({ ...key, processorCustomerId: 'cus_1', paymentMethodId: 'pm_1' }),
    'POST /v1/customers/cus_1 invoice_settings[default_payment_method]=pm_1',
    'key-1',
  ],
  [
    'paymentMethods.setDefaultOfSubscription',
    ({ paymentMethods }) =>
      paymentMethods.setDefaultOfSubscription({
        ...key,
        processorSubscriptionId: 'sub_1',
        paymentMethodId: 'pm_1',
      }),
    'POST /v1/subscriptions/sub_1 default_payment_method=pm_1&expand[0]=discounts.source.coupon&expand[1]=discounts.promotion_code&expand[2]=schedule&expand[3]=latest_invoice.discounts.source.coupon&expand[4]=latest_invoice.discounts.promotion_code',
    'key-1',
  ],
  [
    'paymentMethods.detach',
    ({ paymentMethods }) => paymentMethods.detach({ ...key, paymentMethodId: 'pm_1' }),
    'POST /v1/payment_methods/pm_1/detach ',
    'key-1',
  ],
  ['account.read', ({ readAccount }) => readAccount(), 'GET /v1/account ', undefined],
];

describe('what goes over the wire', () => {
  for (const [name, work, request, idempotencyKey] of calls) {
    test(`${name} is ${request}`, async (t) => {
      const server = await startScriptedServer(t, (response) => respond(response, 400, wireError({})));
      const { processor, outcomes } = startAdapter(t, server.url);
      await work(processor).catch(() => {});
      const [seen] = server.seen;
      assert(seen);
      const called = Object.keys(await outcomes()).map((outcome) => endpointOf(outcome.split(' ')[0] ?? ''));
      for (const { method, path } of server.seen)
        assert.ok(
          called.some((endpoint) => matches(endpoint, `${method} ${path}`)),
          `${called} ${path}`,
        );
      const values = seen.method === 'POST' ? seen.form : seen.query;
      assert.equal(`${seen.method} ${seen.path} ${decodeURIComponent(values.toString())}`, request);
      assert.equal(seen.headers['idempotency-key'], idempotencyKey);
      assert.equal(seen.headers.authorization, 'Bearer sk_test_adapter');
      assert.equal(seen.headers['stripe-version'], '2026-10-28.endive');
    });
  }

  test('no request reports earlier calls', async (t) => {
    const server = await startScriptedServer(t, (response) =>
      respond(response, 200, paymentIntent, { 'request-id': 'req_1' }),
    );
    const { processor } = startAdapter(t, server.url);
    await processor.payments.read('pi_1');
    await processor.payments.read('pi_1');
    assert.equal(server.seen.length, 2);
    assert(server.seen.every(({ headers }) => headers['x-stripe-client-telemetry'] === undefined));
  });

  test('a listing of events continues after a page, and starts over if its types have changed', async (t) => {
    const event = {
      id: 'evt_9',
      object: 'event',
      type: 'type.1',
      created: 1,
      livemode: false,
      data: { object: {} },
    };
    const server = await startScriptedServer(t, (response) =>
      respond(response, 200, { ...list([event]), has_more: true }),
    );
    const { processor } = startAdapter(t, server.url);
    const types = Array.from({ length: 32 }, (_, index) => `type.${index}`);
    const firstPage = async (named: readonly string[], cursor: string | null) => {
      for await (const page of processor.events.listSince(since, named, cursor)) return page;
      assert.fail('there is not a page');
    };
    const { cursor } = await firstPage(types, null);
    await firstPage(types, cursor);
    await firstPage(types.slice(1), cursor);
    assert.deepEqual(
      server.seen.map(({ query }) => query.get('starting_after')),
      [null, 'evt_9', null],
    );
  });

  test('events are asked for in listings of at most twenty types', async (t) => {
    const server = await startScriptedServer(t, (response) => respond(response, 200, list([])));
    const { processor } = startAdapter(t, server.url);
    const types = Array.from({ length: 32 }, (_, index) => `type.${index}`);
    for await (const { events } of processor.events.listSince(since, types)) assert.deepEqual(events, []);
    const asked = server.seen.map(({ query }) => [...query].filter(([name]) => name.startsWith('types[')));
    assert.deepEqual(
      asked.map((named) => named.length),
      [20, 12],
    );
    assert.deepEqual(
      asked.flat().map(([, type]) => type),
      types,
    );
    assert(server.seen.every(({ query }) => query.get('created[gte]') === '1767226200'));
  });
});

describe('a refusal because of the current state', () => {
  const cancel = ({ payments }: Processor) => payments.cancel({ ...key, processorPaymentIntentId: 'pi_1' });
  const giveBack = ({ refunds }: Processor) =>
    refunds.create({ ...creation, processorPaymentIntentId: 'pi_1', amount: 5, reason: null });
  const detach = ({ paymentMethods }: Processor) =>
    paymentMethods.detach({ ...key, paymentMethodId: 'pm_1' });
  const wrongState = (processorCode: string | null) => ({
    outcome: 'wrong_state',
    processorCode,
    message: 'No.',
  });
  const missing = { outcome: 'missing', processorCode: 'resource_missing', message: 'No.' };
  const gone = { code: 'resource_missing', param: 'id' };
  const table: readonly [string, (processor: Processor) => Promise<unknown>, number, object, unknown][] = [
    ['payments.read', ({ payments }) => payments.read('pi_1'), 404, gone, null],
    ['customers.read', ({ customers }) => customers.read('cus_1'), 404, gone, null],
    ['plans.read', ({ plans }) => plans.read('price_1'), 404, gone, null],
    ['subscriptions.read', ({ subscriptions }) => subscriptions.read('sub_1'), 404, gone, null],
    ['invoices.read', ({ invoices }) => invoices.read('in_1'), 404, gone, null],
    ['paymentMethods.read', ({ paymentMethods }) => paymentMethods.read('pm_1'), 404, gone, null],
    [
      'paymentMethods.readDefault',
      ({ paymentMethods }) => paymentMethods.readDefault('cus_1'),
      404,
      gone,
      'unknown',
    ],
    ['paymentMethods.detach', detach, 404, gone, missing],
    ['paymentMethods.detach', detach, 400, {}, wrongState(null)],
    [
      'payments.cancel',
      cancel,
      400,
      { code: 'payment_intent_unexpected_state' },
      wrongState('payment_intent_unexpected_state'),
    ],
    ['payments.cancel', cancel, 404, gone, missing],
    [
      'payments.update',
      ({ payments }) => payments.update({ ...key, processorPaymentIntentId: 'pi_1' }),
      404,
      gone,
      missing,
    ],
    [
      'subscriptions.update',
      ({ subscriptions }) => subscriptions.update({ ...key, processorSubscriptionId: 'sub_1' }),
      404,
      gone,
      missing,
    ],
    ['subscriptions.readToPay', ({ subscriptions }) => subscriptions.readToPay('sub_1'), 404, gone, null],
    ['subscriptions.cancel', ({ subscriptions }) => subscriptions.cancel('sub_1'), 404, gone, missing],
    [
      'refunds.create',
      giveBack,
      400,
      { code: 'charge_already_refunded' },
      wrongState('charge_already_refunded'),
    ],
    ['refunds.create', giveBack, 400, { param: 'amount' }, wrongState(null)],
    ['refunds.create', giveBack, 404, { code: 'resource_missing', param: 'payment_intent' }, missing],
    ['customers.delete', ({ customers }) => customers.delete('cus_1'), 404, gone, missing],
    [
      'customers.update',
      ({ customers }) => customers.update({ ...key, processorCustomerId: 'cus_1' }),
      404,
      gone,
      missing,
    ],
    [
      'plans.archive',
      ({ plans }) => plans.archive({ ...key, processorPriceId: 'price_1', processorProductId: 'prod_1' }),
      404,
      gone,
      missing,
    ],
  ];
  for (const [name, work, status, error, result] of table) {
    test(`${name}: ${status} ${JSON.stringify(error)} is ${JSON.stringify(result)}`, async (t) => {
      const server = await startScriptedServer(t, (response) =>
        respond(response, status, wireError({ ...error })),
      );
      const { processor, outcomes } = startAdapter(t, server.url);
      assert.deepEqual(await work(processor), result);
      assert.deepEqual(Object.values(await outcomes()), [1]);
      assert.match(Object.keys(await outcomes()).join(), / refused$/);
    });
  }

  test("a refusal because of the caller's values is a rejection", async (t) => {
    const server = await startScriptedServer(t, (response) =>
      respond(response, 400, wireError({ code: 'parameter_invalid_empty', param: 'reason' })),
    );
    const { processor } = startAdapter(t, server.url);
    await assert.rejects(giveBack(processor), { code: 'processor_rejected' });
  });
});

describe('what comes back', () => {
  test('an object found by the mark of its request is read again', async (t) => {
    const other = { ...paymentIntent, id: 'pi_0', metadata: {} };
    const server = await startScriptedServer(t, (response, { path }) =>
      respond(response, 200, path.endsWith('/pi_1') ? paymentIntent : list([other, paymentIntent])),
    );
    const { processor } = startAdapter(t, server.url);
    const found = await processor.payments.find({ mark, since, processorCustomerId: 'cus_1' });
    assert.equal(found?.value.payment.processorPaymentIntentId, 'pi_1');
    assert.equal(found?.value.clientSecret, 'pi_1_secret_hush');
    assert.equal(found?.request, mark.request);
    const absent = { mark: { ...mark, key: 'another' }, since, processorCustomerId: 'cus_1' };
    assert.equal(await processor.payments.find(absent), null);
  });

  for (const status of ['succeeded', 'processing', 'canceled', 'requires_capture']) {
    test(`a payment that is ${status} has no secret left to confirm with`, async (t) => {
      const server = await startScriptedServer(t, (response) =>
        respond(response, 200, { ...paymentIntent, status }),
      );
      const { processor } = startAdapter(t, server.url);
      assert.equal((await processor.payments.read('pi_1'))?.clientSecret, null);
    });
  }

  test('a deleted customer is distinguished from an unknown one', async (t) => {
    const stump = { id: 'cus_1', object: 'customer', deleted: true };
    const server = await startScriptedServer(t, (response) => respond(response, 200, stump));
    const { processor } = startAdapter(t, server.url);
    assert.equal(await processor.customers.read('cus_1'), 'deleted');
    assert.deepEqual(await processor.customers.delete('cus_1'), { outcome: 'done', value: 'deleted' });
  });

  test("a response is dated by the processor's clock: from the start of the request to its Date", async (t) => {
    const date = new Date('2031-05-05T12:00:30Z');
    const server = await startScriptedServer(t, (response) =>
      respond(response, 200, paymentIntent, { date: date.toUTCString() }),
    );
    const { processor } = startAdapter(t, server.url);
    const read = await processor.payments.read('pi_1');
    assert(read !== null);
    assert.deepEqual(read.payment.asOf.latest, date);
    assert.ok(read.payment.asOf.earliest < date);
  });

  test('a repeated attempt is dated from the first one: the processor may repeat the response to that', async (t) => {
    const date = new Date('2031-05-05T12:00:30Z');
    const server = await startScriptedServer(t, (response, _seen, count) => {
      if (count === 0) return void setTimeout(() => response.destroy(), 1_100);
      respond(response, 200, customer, { date: date.toUTCString() });
    });
    const { processor } = startAdapter(t, server.url);
    const change = { ...key, processorCustomerId: 'cus_1', name: 'Ada' };
    const result = await processor.customers.update(change);
    assert(result.outcome === 'done');
    assert.ok(result.value.asOf.earliest <= new Date('2031-05-05T12:00:28Z'));
  });

  test('a changed customer that is shown as deleted is an invalid response: only a read says what is deleted', async (t) => {
    const server = await startScriptedServer(t, (response) =>
      respond(response, 200, { ...customer, deleted: true }),
    );
    const { processor } = startAdapter(t, server.url);
    const change = { ...key, processorCustomerId: 'cus_1', name: 'Ada' };
    await assert.rejects(processor.customers.update(change), { code: 'processor_bad_answer' });
  });

  test('the response to a creation may be a repeated one, so that only its creation is certain', async (t) => {
    const server = await startScriptedServer(t, (response) => respond(response, 200, paymentIntent));
    const { processor } = startAdapter(t, server.url);
    const created = await processor.payments.create({
      ...creation,
      ...{ processorCustomerId: 'cus_1', amount: 2000, currency: 'eur' },
    });
    assert.deepEqual(created.payment.asOf.earliest, new Date(paymentIntent.created * 1_000));
  });

  for (const status of [null, 'reversed', undefined]) {
    test(`a refund with status ${status} is reported as unknown, with a warning`, async (t) => {
      const odd = { ...refund, status };
      const server = await startScriptedServer(t, (response, { method }) =>
        respond(response, 200, method === 'POST' ? odd : list([odd])),
      );
      const { processor, logged } = startAdapter(t, server.url);
      const order = { ...creation, processorPaymentIntentId: 'pi_1', amount: 500, reason: null };
      const created = await processor.refunds.create(order);
      assert(created.outcome === 'done');
      assert.equal(created.value.status, 'unknown');
      const [listed] = await processor.refunds.listOfPayment('pi_1');
      const found = await processor.refunds.find({ mark, since, processorPaymentIntentId: 'pi_1' });
      // Each response has its own time.
      for (const other of [listed, found?.value])
        assert.deepEqual({ ...other, asOf: created.value.asOf }, created.value);
      assert.equal(logged.length, 3);
      for (const line of logged) assert.match(line, /refund\.status is .*refund status unknown/);
    });
  }

  test('a refund that cannot be mapped hides no other one, but is not called missing either', async (t) => {
    const otherId = '0199d3a2-0000-7000-8000-000000000001';
    const odd = { ...refund, id: 're_2', amount: 'odd', metadata: { till_id: otherId, till_key: 'other' } };
    const server = await startScriptedServer(t, (response) => respond(response, 200, list([odd, refund])));
    const { processor, logged } = startAdapter(t, server.url);
    const found = await processor.refunds.listOfPayment('pi_1');
    assert.deepEqual(
      found.map(({ processorRefundId }) => processorRefundId),
      ['re_1'],
    );
    assert.equal(logged.length, 1);
    assert.match(logged.join(), /re_2.*invalid object left out of a list/);
    const lookUp = { mark: { ...mark, key: 'other' }, since, processorPaymentIntentId: 'pi_1' };
    await assert.rejects(processor.refunds.find(lookUp), { code: 'processor_bad_answer' });
  });

  test('a payment whose secret is missing is returned without it, with a warning', async (t) => {
    const { client_secret: _, ...intent } = paymentIntent;
    const server = await startScriptedServer(t, (response) => respond(response, 200, intent));
    const { processor, logged } = startAdapter(t, server.url);
    assert.equal((await processor.payments.create(newPayment)).clientSecret, null);
    assert.match(logged.join(), /pi_1.*client secret missing from the response/);
  });

  test('an invoice with more lines than it shows is read with all of them', async (t) => {
    const line = (end: number) => ({
      ...{ id: `il_${end}`, object: 'line_item', amount: 900, period: { start: end - 100, end } },
      parent: { type: 'subscription_item_details', subscription_item_details: { proration: false } },
    });
    const invoice = JSON.parse(eventFixture('invoice.paid.newer')).data.object;
    const server = await startScriptedServer(t, (response, { path, query }) => {
      const isFirst = !query.has('starting_after');
      const lines = path.endsWith('/lines') ? list([line(isFirst ? 200 : 300)], isFirst) : undefined;
      respond(response, 200, lines ?? { ...invoice, lines: list([line(100)], true) });
    });
    const { processor } = startAdapter(t, server.url);
    assert.deepEqual((await processor.invoices.read('in_1'))?.coversUntil, new Date(300_000));
    assert.deepEqual(
      server.seen.map(({ path, query }) => `${path} ${query.get('starting_after')}`),
      ['/v1/invoices/in_1 null', '/v1/invoices/in_1/lines null', '/v1/invoices/in_1/lines il_200'],
    );
  });

  test('a subscription with more items than it shows is read with all of them', async (t) => {
    const object = JSON.parse(eventFixture('customer.subscription.updated.newer')).data.object;
    const [item] = object.items.data;
    const items = Array.from({ length: 130 }, (_, index) => ({
      ...{ ...item, id: `si_${index + 100}`, created: index, price: { ...item.price, id: `price_${index}` } },
    }));
    const server = await startScriptedServer(t, (response, { path, query }) => {
      if (path.endsWith('/subscription_items')) {
        assert.deepEqual([query.get('subscription'), query.get('limit')], ['sub_1', '100']);
        const start = items.findIndex(({ id }) => id === query.get('starting_after')) + 1;
        respond(response, 200, list(items.slice(start, start + 100), start === 0));
      } else respond(response, 200, { ...object, items: list(items.slice(0, 10), true) });
    });
    const { processor } = startAdapter(t, server.url);
    const found = await processor.subscriptions.read('sub_1');
    assert.deepEqual(
      found?.subscription.items.map(({ processorItemId }) => processorItemId),
      items.map(({ id }) => id),
    );
    assert.equal(found?.subscription.hasMoreItems, undefined);
    const changeable = await processor.subscriptionChanges.read('sub_1');
    assert.equal(changeable.items.length, 130);
  });

  test('a preview with more lines than it shows has all of them', async (t) => {
    const line = (index: number) => ({
      ...{ id: `il_tmp_${index}`, object: 'line_item', amount: index, period: { start: 0, end: 100 } },
      ...{ currency: 'eur', description: null, parent: null },
    });
    const lines = Array.from({ length: 130 }, (_, index) => line(index));
    const invoice = JSON.parse(eventFixture('invoice.paid.newer')).data.object;
    const server = await startScriptedServer(t, (response, { path, query }) => {
      const start = lines.findIndex(({ id }) => id === query.get('starting_after')) + 1;
      const page = path.endsWith('/lines')
        ? list(lines.slice(start, start + 100), start + 100 < lines.length)
        : { ...invoice, id: 'upcoming_in_1', lines: list(lines.slice(0, 10), true) };
      respond(response, 200, page);
    });
    const { processor } = startAdapter(t, server.url);
    const attempt = await processor.subscriptionChanges.preview({
      ...{ processorSubscriptionId: 'sub_1', items: [{ processorItemId: 'si_1', quantity: 2 }] },
      ...{ proration: 'none', startsPeriod: false },
      found: { items: [], changeInvoiceId: null, unrestoredInvoiceId: null, processorPlanningId: null },
    });
    assert(attempt.outcome === 'done' && attempt.value !== null);
    assert.deepEqual(
      attempt.value.lines.map(({ amount }) => amount),
      lines.map(({ amount }) => amount),
    );
    assert.deepEqual(
      server.seen.map(({ path }) => path),
      ['/v1/invoices/create_preview', '/v1/invoices/upcoming_in_1/lines', '/v1/invoices/upcoming_in_1/lines'],
    );
  });

  test("customers and refunds are returned in Till's words", async (t) => {
    const date = new Date('2031-05-05T12:00:30Z');
    const server = await startScriptedServer(t, (response, { path }) =>
      respond(response, 200, path.includes('refunds') ? list([refund]) : customer, {
        date: date.toUTCString(),
      }),
    );
    const { processor } = startAdapter(t, server.url);
    const createdAt = new Date('2026-01-01T00:00:00Z');
    const read = await processor.customers.read('cus_1');
    assert(read !== null && read !== 'deleted');
    assert.deepEqual(read, {
      processorCustomerId: 'cus_1',
      localId,
      email: 'ada@example.com',
      name: 'Ada',
      phone: null,
      externalId: null,
      metadata: {},
      deleted: false,
      createdAt,
      asOf: { earliest: read.asOf.earliest, latest: date },
    });
    const [found] = await processor.refunds.listOfPayment('pi_1');
    assert.equal(found?.localId, localId);
  });
});

describe('the address and the keys', () => {
  const settings = {
    secretKey: 'sk_test_1',
    webhookSecrets: ['whsec_1'],
    maxInFlight: 1,
    metrics: createMetrics({ eventTypes: [], mirrors: [] }),
    logger: silentLogger,
  };
  for (const address of [
    'http://127.0.0.1:1/v1',
    'http://127.0.0.1:1/?a',
    'ftp://127.0.0.1',
    'http://u:p@127.0.0.1',
  ]) {
    test(`${address} is refused`, () => {
      assert.throws(() => createStripeProcessor({ ...settings, apiBase: new URL(address) }), /address must/);
    });
  }

  for (const webhookSecrets of [[], [''], ['whsec_1', ' ']]) {
    test(`webhook secrets ${JSON.stringify(webhookSecrets)} are refused`, () => {
      const apiBase = new URL('http://127.0.0.1:1');
      assert.throws(() => createStripeProcessor({ ...settings, apiBase, webhookSecrets }), /forge events/);
    });
  }

  test('the mode is that of the secret key', (t) => {
    const address = new URL('http://127.0.0.1:1');
    assert.equal(startAdapter(t, address, { secretKey: 'sk_test_1' }).processor.livemode, false);
    assert.equal(startAdapter(t, address, { secretKey: 'rk_live_1' }).processor.livemode, true);
  });
});
