import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Sql, TestProcessor } from './backend.ts';
import { type Client, readJson } from './client.ts';

/** The resources as the spec describes them, written down apart from the service's own schemas. */
export interface CustomerBody {
  readonly id: string;
  readonly processorCustomerId: string;
  readonly email: string;
  readonly name: string | null;
  readonly phone: string | null;
  readonly externalId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface PlanBody {
  readonly id: string;
  readonly processorProductId: string;
  readonly processorPriceId: string;
  readonly name: string;
  readonly amount: number;
  readonly currency: string;
  readonly interval: string;
  readonly intervalCount: number;
  readonly features: Readonly<Record<string, boolean | number | string>>;
  readonly group: string | null;
  readonly addOn: boolean;
  readonly repeatable: boolean;
  readonly active: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface PaymentBody {
  readonly id: string;
  readonly processorPaymentIntentId: string;
  readonly customerId: string;
  readonly amount: number;
  readonly amountReceived: number;
  readonly amountRefunded: number;
  readonly amountCapturable: number;
  readonly captureBefore: string | null;
  readonly currency: string;
  readonly status: string;
  readonly description: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly failure: {
    readonly code: string | null;
    readonly declineCode: string | null;
    readonly message: string | null;
  } | null;
  readonly paymentMethod: {
    readonly id: string;
    readonly type: string;
    readonly brand: string | null;
    readonly last4: string | null;
    readonly expMonth: number | null;
    readonly expYear: number | null;
  } | null;
  readonly invoiceId: string | null;
  readonly subscriptionId: string | null;
  readonly checkoutId: string | null;
  readonly dispute: DisputeBody | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface DisputeBody {
  readonly status: string;
  readonly amount: number | null;
  readonly reason: string | null;
  readonly evidenceDueBy: string | null;
}

/** The fields of a payment before the first attempt to pay it. */
export const untriedPayment = {
  amountReceived: 0,
  amountRefunded: 0,
  amountCapturable: 0,
  captureBefore: null,
  description: null,
  metadata: {},
  failure: null,
  paymentMethod: null,
  invoiceId: null,
  subscriptionId: null,
  checkoutId: null,
  dispute: null,
};

export interface RefundBody {
  readonly id: string;
  readonly processorRefundId: string;
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: string;
  readonly reason: string | null;
  readonly kind: 'refund' | 'release';
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface AddOnBody {
  readonly planId: string;
  readonly quantity: number;
}

export interface SubscriptionBody {
  readonly id: string;
  readonly processorSubscriptionId: string;
  readonly customerId: string;
  readonly planId: string;
  readonly quantity: number;
  readonly addOns: readonly AddOnBody[];
  readonly otherItems: readonly {
    readonly processorPriceId: string;
    readonly quantity: number | null;
    readonly description: string | null;
  }[];
  readonly status: string;
  readonly entitled: boolean;
  readonly currentPeriodStart: string | null;
  readonly currentPeriodEnd: string | null;
  readonly trialEnd: string | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly cancelAt: string | null;
  readonly canceledAt: string | null;
  readonly endedAt: string | null;
  readonly cancellationReason: string | null;
  readonly latestInvoiceId: string | null;
  readonly defaultPaymentMethodId: string | null;
  readonly discount: {
    readonly code: string | null;
    readonly percentOff: number | null;
    readonly amountOff: number | null;
    readonly currency: string | null;
    readonly endsAt: string | null;
  } | null;
  readonly pendingChange: {
    readonly planId: string | null;
    readonly quantity: number;
    readonly addOns: readonly AddOnBody[];
    readonly at: string | null;
  } | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** The fields of a subscription that was never changed or canceled. */
export const plainSubscription = {
  quantity: 1,
  addOns: [],
  otherItems: [],
  cancelAtPeriodEnd: false,
  cancelAt: null,
  canceledAt: null,
  endedAt: null,
  cancellationReason: null,
  latestInvoiceId: null,
  defaultPaymentMethodId: null,
  discount: null,
  pendingChange: null,
};

export interface InvoiceBody {
  readonly id: string;
  readonly processorInvoiceId: string;
  readonly customerId: string | null;
  readonly processorCustomerId: string | null;
  readonly processorSubscriptionId: string | null;
  readonly subscriptionId: string | null;
  readonly number: string | null;
  readonly amountDue: number;
  readonly amountPaid: number;
  readonly amountRemaining: number;
  readonly currency: string;
  readonly status: string;
  readonly attemptCount: number;
  readonly nextPaymentAttemptAt: string | null;
  readonly periodStart: string | null;
  readonly periodEnd: string | null;
  readonly hostedInvoiceUrl: string | null;
  readonly invoicePdfUrl: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface PageBody<Item> {
  readonly data: readonly Item[];
  readonly total: number;
  readonly totalCapped: boolean;
  readonly page: number;
  readonly limit: number;
  readonly nextCursor: string | null;
}

/** The fields of a list beside its data, when it is the only page. */
export const onlyPage = { totalCapped: false, page: 1, limit: 20, nextCursor: null };

export interface CreatedPaymentBody {
  readonly payment: PaymentBody;
  readonly clientSecret: string | null;
}

export interface CreatedSubscriptionBody {
  readonly subscription: SubscriptionBody;
  readonly clientSecret: string | null;
  readonly setupClientSecret: string | null;
}

export type RefundedBody = PaymentBody & { readonly refund: RefundBody };

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Asserts that the response has exactly these fields. `id`, `createdAt` and `updatedAt` are the service's own: they
 * must be there and well-formed, whatever they are.
 */
export function assertResource(
  body: { readonly id: string; readonly createdAt: string; readonly updatedAt: string },
  expected: Readonly<Record<string, unknown>>,
): void {
  const { id, createdAt, updatedAt, ...rest } = body;
  assert.match(id, uuid7);
  for (const time of [createdAt, updatedAt]) assert.equal(new Date(time).toISOString(), time);
  assert.deepEqual(rest, expected);
}

/** Creates through the API. What the values leave out gets a default; a payment or subscription gets a new customer. */
export async function createCustomer(
  { call }: Client,
  values: {
    readonly email?: string;
    readonly name?: string;
    readonly phone?: string;
    readonly externalId?: string;
  } = {},
): Promise<CustomerBody> {
  return readJson(
    await call('POST', '/customers', { email: 'ada@example.com', name: 'Ada', ...values }),
    201,
  );
}

export async function createPlan(
  { call }: Client,
  values: {
    readonly name?: string;
    readonly amount?: number;
    readonly currency?: string;
    readonly interval?: string;
    readonly intervalCount?: number;
    readonly features?: PlanBody['features'];
    readonly group?: string;
    readonly addOn?: boolean;
    readonly repeatable?: boolean;
  } = {},
): Promise<PlanBody> {
  const plan = { name: 'Gold', amount: 900, currency: 'eur', interval: 'month', ...values };
  return readJson(await call('POST', '/plans', plan), 201);
}

export async function createPayment(
  till: Client,
  values: {
    readonly customerId?: string;
    readonly amount?: number;
    readonly currency?: string;
    readonly captureMethod?: 'manual';
    readonly description?: string;
  } = {},
): Promise<PaymentBody> {
  const customerId = values.customerId ?? (await createCustomer(till)).id;
  const order = { amount: 2_000, currency: 'eur', ...values, customerId };
  const { payment } = await readJson<CreatedPaymentBody>(await till.call('POST', '/payments', order), 201);
  return payment;
}

export async function createSubscription(
  till: Client,
  values: {
    readonly customerId?: string;
    readonly planId?: string;
    readonly trialPeriodDays?: number;
    readonly quantity?: number;
    readonly addOns?: readonly AddOnBody[];
    readonly paymentMethodId?: string;
    readonly promotionCode?: string;
    readonly trialEndWithoutCard?: 'invoice' | 'pause' | 'cancel';
  } = {},
): Promise<CreatedSubscriptionBody> {
  const customerId = values.customerId ?? (await createCustomer(till)).id;
  const planId = values.planId ?? (await createPlan(till)).id;
  return readJson(await till.call('POST', '/subscriptions', { ...values, customerId, planId }), 201);
}

type WithStripe = Pick<TestProcessor, 'stripe'>;

/** A price that bills usage, which cannot be a Till plan. Returns its id. */
export async function createMeteredPrice(
  { stripe }: WithStripe,
  {
    interval = 'month',
    currency = 'eur',
  }: { readonly interval?: 'month' | 'year'; readonly currency?: string } = {},
): Promise<string> {
  const meter = await stripe.billing.meters.create({
    ...{ display_name: 'Traffic', event_name: `traffic-${randomUUID()}` },
    default_aggregation: { formula: 'sum' },
  });
  const { id } = await stripe.prices.create({
    ...{ currency, unit_amount: 20, nickname: 'Traffic', product_data: { name: 'Traffic' } },
    recurring: { interval, usage_type: 'metered', meter: meter.id },
  });
  return id;
}

/** A payment that is paid at the processor. Till does not know it yet. */
export async function createPaidPayment(
  till: Client & WithStripe,
  {
    card,
    ...values
  }: {
    readonly card?: string;
    readonly customerId?: string;
    readonly amount?: number;
    readonly currency?: string;
    readonly description?: string;
  } = {},
): Promise<PaymentBody> {
  const payment = await createPayment(till, values);
  await confirmPayment(till, payment, card);
  return payment;
}

/** Pays at the processor, as the frontend does. Till learns of it from webhooks only. */
export async function confirmPayment(
  till: WithStripe,
  payment: { readonly processorPaymentIntentId: string },
  card?: string,
): Promise<void> {
  await confirmIntent(till, payment.processorPaymentIntentId, card);
}

/** Pays what a client secret belongs to, such as the first invoice of a subscription. */
export async function confirmSecret(
  till: WithStripe,
  clientSecret: string | null,
  card?: string,
): Promise<void> {
  await confirmIntent(till, intentOf(clientSecret), card);
}

export async function confirmIntent(
  { stripe }: WithStripe,
  intentId: string,
  card = 'pm_card_visa',
): Promise<void> {
  await stripe.paymentIntents.confirm(intentId, {
    payment_method: card,
    return_url: 'https://shop.example.com/done',
  });
}

/** The id of the payment intent that a client secret belongs to. */
export function intentOf(clientSecret: string | null): string {
  assert.ok(clientSecret !== null);
  return clientSecret.slice(0, clientSecret.indexOf('_secret_'));
}

export function readPayment(till: Client, { id }: { readonly id: string }): Promise<PaymentBody> {
  return till.get(`/payments/${id}`);
}

export function readSubscription(till: Client, { id }: { readonly id: string }): Promise<SubscriptionBody> {
  return till.get(`/subscriptions/${id}`);
}

export async function readRefunds(
  till: Client,
  { id }: { readonly id: string },
): Promise<readonly RefundBody[]> {
  return (await till.get<PageBody<RefundBody>>(`/payments/${id}/refunds`)).data;
}

/** The invoice with this id of the processor's, whichever customer it belongs to. */
export async function readInvoice(
  till: Client & { readonly sql: Sql },
  processorInvoiceId: string,
): Promise<InvoiceBody> {
  const [row] = await till.sql<{ id: string }>(
    'select id from till.invoices where processor_invoice_id = $1',
    [processorInvoiceId],
  );
  assert(row, `there is no invoice ${processorInvoiceId}`);
  return till.get(`/invoices/${row.id}`);
}

/** A saved payment method, as additions to the spec describe it. */
export interface PaymentMethodBody {
  readonly id: string;
  readonly type: string;
  readonly brand: string | null;
  readonly last4: string | null;
  readonly expMonth: number | null;
  readonly expYear: number | null;
  readonly isDefault: boolean;
  readonly createdAt: string;
}

/** Saves a card as a frontend does. A card that needs 3-D Secure is not saved before `authenticateSetup`. */
export async function saveCard(
  till: Client & WithStripe,
  { id }: { readonly id: string },
  card = 'pm_card_visa',
): Promise<{ readonly setupIntentId: string; readonly paymentMethodId: string }> {
  const { clientSecret } = await readJson<{ clientSecret: string | null }>(
    await till.call('POST', `/customers/${id}/payment-methods`, {}),
    201,
  );
  const setupIntentId = intentOf(clientSecret);
  const { payment_method: paymentMethodId } = await till.stripe.setupIntents.confirm(setupIntentId, {
    payment_method: card,
    return_url: 'https://shop.example.com/done',
  });
  return { setupIntentId, paymentMethodId: String(paymentMethodId) };
}

export function listCards(
  till: Client,
  { id }: { readonly id: string },
): Promise<readonly PaymentMethodBody[]> {
  return till.get(`/customers/${id}/payment-methods`);
}
