import assert from 'node:assert/strict';
import { attemptsMax } from '#core/model/webhook-event.ts';
import { type CheckoutBody, createCheckout } from '../../support/checkouts.ts';
import {
  type CustomerBody,
  confirmPayment,
  confirmSecret,
  createCustomer,
  createPlan,
  createSubscription,
  type PaymentBody,
  type PlanBody,
  readInvoice,
  type SubscriptionBody,
  saveCard,
} from '../../support/objects.ts';
import type { TillInProcess } from '../../support/till-in-process.ts';
import { eventOf, idOf } from '../../support/webhook-events.ts';

/** Objects in every state that the console shows. */
export interface World {
  /** Has a card, payments in every state, a subscription and its invoice. */
  readonly customer: CustomerBody;
  readonly payments: Readonly<Record<(typeof paymentNames)[number], PaymentBody>>;
  readonly plan: PlanBody;
  readonly archivedPlan: PlanBody;
  readonly active: SubscriptionBody;
  readonly trialing: SubscriptionBody;
  /** Open, to a second subscription of the customer. */
  readonly checkout: CheckoutBody;
  /** Of the active subscription. */
  readonly invoiceId: string;
  /** A webhook event that could not be applied. Now it can. */
  readonly failedEventId: string;
  readonly endpointId: string;
  /** Of the customer: that it was created. */
  readonly eventId: string;
}

const paymentNames = [
  'paid',
  'yen',
  'partlyRefunded',
  'refunded',
  'disputed',
  'declined',
  'untried',
  'needsAction',
  'capturable',
  'canceled',
] as const;

export async function createWorld(till: TillInProcess): Promise<World> {
  const customer = await createCustomer(till, {
    name: 'Ada Lovelace',
    email: 'ada.lovelace@example.com',
    phone: '+353 1 234 5678',
  });
  await saveCard(till, customer);
  const payments = await createPayments(till, customer);
  const [plan, archivedPlan] = [
    await createPlan(till, { name: 'Gold', amount: 900, repeatable: true }),
    await createPlan(till, { name: 'Old Silver', amount: 500 }),
  ];
  const { subscription, clientSecret } = await createSubscription(till, {
    customerId: customer.id,
    planId: plan.id,
  });
  await confirmSecret(till, clientSecret);
  const trial = await createSubscription(till, { planId: plan.id, trialPeriodDays: 14 });
  const { checkout } = await createCheckout(till, { customerId: customer.id, planId: plan.id });
  await till.settle();
  await till.post(`/plans/${archivedPlan.id}/archive`);
  const { id: endpointId } = await till.post<{ id: string }>('/event-endpoints', {
    url: 'https://shop.example.com/till-events',
    types: ['payment.succeeded', 'payment.refunded'],
  });
  // The last of the first steps, so that the overview shows the numbers.
  await till.post('/api-keys', { name: 'shop', scopes: ['write', 'refund'] });
  const atProcessor = await till.stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
  return {
    customer,
    payments,
    plan,
    archivedPlan: await till.get(`/plans/${archivedPlan.id}`),
    active: await till.get(`/subscriptions/${subscription.id}`),
    trialing: await till.get(`/subscriptions/${trial.subscription.id}`),
    checkout,
    invoiceId: (await readInvoice(till, String(atProcessor.latest_invoice))).id,
    failedEventId: await failEvent(till),
    endpointId,
    eventId: await firstEventOf(till, customer),
  };
}

async function firstEventOf(till: TillInProcess, { id }: CustomerBody): Promise<string> {
  const { data } = await till.get<{ readonly data: readonly { readonly id: string }[] }>(
    `/events?objectId=${id}&limit=1`,
  );
  return data[0]?.id ?? assert.fail('it has no event');
}

async function createPayments(
  till: TillInProcess,
  { id: customerId }: CustomerBody,
): Promise<World['payments']> {
  const create = async (values: object = {}): Promise<PaymentBody> => {
    const order = { customerId, amount: 2_000, currency: 'eur', ...values };
    return (await till.post<{ readonly payment: PaymentBody }>('/payments', order)).payment;
  };
  const pay = async (values: object = {}, card?: string): Promise<PaymentBody> => {
    const payment = await create(values);
    // A declined card is an error of the client.
    await confirmPayment(till, payment, card).catch(() => {});
    return payment;
  };
  const created = {
    paid: await pay({ description: 'Order 1001', metadata: { order: '1001' } }),
    yen: await pay({ amount: 5_400, currency: 'jpy', description: 'Order 1002' }),
    partlyRefunded: await pay({ amount: 12_000, description: 'Order 1003' }),
    refunded: await pay({ amount: 3_500, description: 'Order 1004' }),
    disputed: await pay({ amount: 7_700, description: 'Order 1005' }, 'pm_card_createDispute'),
    declined: await pay({ description: 'Order 1006' }, 'pm_card_visa_chargeDeclinedInsufficientFunds'),
    untried: await create({ amount: 950 }),
    needsAction: await pay({ description: 'Order 1007' }, 'pm_card_authenticationRequired'),
    capturable: await pay({ amount: 8_000, captureMethod: 'manual', description: 'Order 1008' }),
    canceled: await create({ amount: 1_100, description: 'Order 1009' }),
  };
  // Moving the clock by no time waits for the dispute, which follows the payment.
  await till.control('clock', { advanceSeconds: 0 });
  await till.settle();
  await till.post(`/payments/${created.partlyRefunded.id}/refund`, { amount: 4_500 });
  await till.post(`/payments/${created.refunded.id}/refund`, { reason: 'requested_by_customer' });
  await till.post(`/payments/${created.canceled.id}/cancel`);
  await till.settle();
  const read = async (name: (typeof paymentNames)[number]) =>
    [name, await till.get<PaymentBody>(`/payments/${created[name].id}`)] as const;
  return Object.fromEntries(await Promise.all(paymentNames.map(read))) as Record<
    (typeof paymentNames)[number],
    PaymentBody
  >;
}

/** An event whose write the database refused so often that Till gave up. */
async function failEvent(till: TillInProcess): Promise<string> {
  const event = eventOf('invoice.paid.newer', { id: 'in_refused' });
  await till.sql(
    `alter table till.invoices add constraint refused check (processor_invoice_id <> 'in_refused')`,
  );
  await till.take(event);
  await till.sql('update till.webhook_events set attempts = $1, next_try_at = now() where id = $2', [
    attemptsMax - 1,
    idOf(event),
  ]);
  await till.drain();
  await till.sql('alter table till.invoices drop constraint refused');
  const [row] = await till.sql<{ state: string }>('select state from till.webhook_events where id = $1', [
    idOf(event),
  ]);
  assert.equal(row?.state, 'failed');
  return idOf(event);
}
