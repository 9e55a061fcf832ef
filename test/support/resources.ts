import assert from 'node:assert/strict';
import { readJson, type Service } from './service.ts';

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
  readonly currency: string;
  readonly status: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface RefundBody {
  readonly id: string;
  readonly processorRefundId: string;
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: string;
  readonly reason: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface SubscriptionBody {
  readonly id: string;
  readonly processorSubscriptionId: string;
  readonly customerId: string;
  readonly planId: string;
  readonly status: string;
  readonly currentPeriodStart: string | null;
  readonly currentPeriodEnd: string | null;
  readonly trialEnd: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface InvoiceBody {
  readonly id: string;
  readonly processorInvoiceId: string;
  readonly customerId: string | null;
  readonly processorCustomerId: string | null;
  readonly processorSubscriptionId: string | null;
  readonly amountDue: number;
  readonly amountPaid: number;
  readonly currency: string;
  readonly status: string;
  readonly hostedInvoiceUrl: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface PageBody<Item> {
  readonly data: readonly Item[];
  readonly total: number;
  readonly page: number;
  readonly limit: number;
}

export interface CreatedPaymentBody {
  readonly payment: PaymentBody;
  readonly clientSecret: string | null;
}

export interface CreatedSubscriptionBody {
  readonly subscription: SubscriptionBody;
  readonly clientSecret: string | null;
}

export type RefundedBody = PaymentBody & { readonly refund: RefundBody };

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Asserts that the answer has exactly these fields. `id`, `createdAt` and `updatedAt` are the service's own: they must
 * be there and well-formed, whatever they are.
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

export async function makeCustomer(
  { call }: Service,
  values: { readonly email?: string; readonly name?: string; readonly phone?: string } = {},
): Promise<CustomerBody> {
  return readJson(await call('POST', '/customers', { email: 'ada@example.com', ...values }), 201);
}

export async function makePlan(
  { call }: Service,
  values: { readonly amount?: number; readonly interval?: string } = {},
): Promise<PlanBody> {
  const plan = { name: 'Gold', amount: 1_900, currency: 'eur', interval: 'month', ...values };
  return readJson(await call('POST', '/plans', plan), 201);
}

export async function makePayment(
  service: Service,
  values: { readonly customerId?: string; readonly amount?: number } = {},
): Promise<CreatedPaymentBody> {
  const customerId = values.customerId ?? (await makeCustomer(service)).id;
  const payment = { amount: 2_000, currency: 'eur', ...values, customerId };
  return readJson(await service.call('POST', '/payments', payment), 201);
}

export async function makeSubscription(
  service: Service,
  values: { readonly customerId?: string; readonly planId?: string; readonly trialPeriodDays?: number } = {},
): Promise<CreatedSubscriptionBody> {
  const customerId = values.customerId ?? (await makeCustomer(service)).id;
  const planId = values.planId ?? (await makePlan(service)).id;
  return readJson(await service.call('POST', '/subscriptions', { ...values, customerId, planId }), 201);
}

/** Pays at the processor, as a frontend does; no news of it reaches the service. */
export async function confirmPayment(
  { stripe }: Service,
  { processorPaymentIntentId }: PaymentBody,
  card = 'pm_card_visa',
): Promise<void> {
  await stripe.paymentIntents.confirm(processorPaymentIntentId, {
    payment_method: card,
    return_url: 'https://shop.example.com/done',
  });
}

/** Pays what a secret stands for, such as the first invoice of a subscription; no news of it reaches the service. */
export async function confirmSecret({ stripe }: Service, clientSecret: string | null): Promise<void> {
  assert.ok(clientSecret !== null);
  await stripe.paymentIntents.confirm(clientSecret.slice(0, clientSecret.indexOf('_secret_')), {
    payment_method: 'pm_card_visa',
    return_url: 'https://shop.example.com/done',
  });
}

/** A payment that is paid at the processor and still unpaid in the mirror. */
export async function makePaidPayment(
  service: Service,
  { card = 'pm_card_visa', ...values }: { readonly card?: string; readonly amount?: number } = {},
): Promise<PaymentBody> {
  const { payment } = await makePayment(service, values);
  await confirmPayment(service, payment, card);
  return payment;
}
