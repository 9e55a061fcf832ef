import assert from 'node:assert/strict';
import type { WebhookTill } from './webhook-till.ts';

export interface CustomerAnswer {
  readonly id: string;
  readonly processorCustomerId: string;
  readonly email: string;
  readonly name: string | null;
}

export interface PlanAnswer {
  readonly id: string;
  readonly processorProductId: string;
  readonly processorPriceId: string;
  readonly name: string;
  readonly active: boolean;
}

export interface PaymentAnswer {
  readonly id: string;
  readonly processorPaymentIntentId: string;
  readonly customerId: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: string;
}

export interface SubscriptionAnswer {
  readonly id: string;
  readonly processorSubscriptionId: string;
  readonly customerId: string;
  readonly planId: string;
  readonly status: string;
  readonly currentPeriodStart: string | null;
  readonly currentPeriodEnd: string | null;
}

export interface InvoiceAnswer {
  readonly processorInvoiceId: string;
  readonly customerId: string | null;
  readonly processorCustomerId: string | null;
  readonly processorSubscriptionId: string | null;
  readonly amountDue: number;
  readonly amountPaid: number;
  readonly status: string;
}

export interface RefundAnswer {
  readonly id: string;
  readonly processorRefundId: string;
  readonly amount: number;
  readonly status: string;
}

export function newCustomer(till: WebhookTill): Promise<CustomerAnswer> {
  return till.post('/customers', { email: 'ada@example.com', name: 'Ada' });
}

export function newPlan(till: WebhookTill): Promise<PlanAnswer> {
  return till.post('/plans', { name: 'Gold', amount: 900, currency: 'eur', interval: 'month' });
}

export async function newPayment(till: WebhookTill, customerId?: string): Promise<PaymentAnswer> {
  const owner = customerId ?? (await newCustomer(till)).id;
  const order = { customerId: owner, amount: 2000, currency: 'eur' };
  const { payment } = await till.post<{ payment: PaymentAnswer }>('/payments', order);
  return payment;
}

/** A payment that its customer has paid; nothing of that has reached Till yet. */
export async function newPaidPayment(till: WebhookTill, card = 'pm_card_visa'): Promise<PaymentAnswer> {
  const payment = await newPayment(till);
  await pay(till, payment.processorPaymentIntentId, card);
  return payment;
}

/** What the frontend does. */
export async function pay({ stripe }: WebhookTill, intentId: string, card = 'pm_card_visa'): Promise<void> {
  await stripe.paymentIntents.confirm(intentId, {
    payment_method: card,
    return_url: 'https://shop.example.com/done',
  });
}

export async function newSubscription(till: WebhookTill, customerId?: string, planId?: string) {
  const owner = customerId ?? (await newCustomer(till)).id;
  const plan = planId ?? (await newPlan(till)).id;
  const { subscription, clientSecret } = await till.post<{
    subscription: SubscriptionAnswer;
    clientSecret: string;
  }>('/subscriptions', { customerId: owner, planId: plan });
  const intentId = clientSecret.slice(0, clientSecret.indexOf('_secret_'));
  assert.ok(intentId.length > 0);
  return { subscription, intentId };
}

export function readPayment(till: WebhookTill, { id }: { readonly id: string }): Promise<PaymentAnswer> {
  return till.get(`/payments/${id}`);
}

export function readSubscription(
  till: WebhookTill,
  { id }: { readonly id: string },
): Promise<SubscriptionAnswer> {
  return till.get(`/subscriptions/${id}`);
}

export async function readRefunds(
  till: WebhookTill,
  payment: PaymentAnswer,
): Promise<readonly RefundAnswer[]> {
  const { data } = await till.get<{ data: readonly RefundAnswer[] }>(`/payments/${payment.id}/refunds`);
  return data;
}

/** The invoice with this id of the processor's, wherever it belongs. */
export async function readInvoice(till: WebhookTill, processorInvoiceId: string): Promise<InvoiceAnswer> {
  const [row] = await till.sql<{ id: string }>(
    'select id from till.invoices where processor_invoice_id = $1',
    [processorInvoiceId],
  );
  assert(row, `there is no invoice ${processorInvoiceId}`);
  return till.get(`/invoices/${row.id}`);
}
