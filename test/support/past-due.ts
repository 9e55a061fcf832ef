import assert from 'node:assert/strict';
import type { TestProcessor } from './backend.ts';
import { type Client, readJson } from './client.ts';
import {
  type CustomerBody,
  confirmSecret,
  createCustomer,
  createSubscription,
  type SubscriptionBody,
} from './objects.ts';

export interface PastDue {
  readonly customer: CustomerBody;
  readonly subscription: SubscriptionBody;
  /** Pays the first invoice, and is not the default any more. */
  readonly goodCard: string;
  /** The default of the subscription. */
  readonly badCard: string;
  /** The renewal that was declined. */
  readonly invoiceId: string;
}

const renewalSeconds = 32 * 86_400;

/** An active subscription, and two cards of its customer. */
export async function createActive(
  till: Client & Pick<TestProcessor, 'stripe'>,
  badToken = 'pm_card_chargeCustomerFail',
): Promise<Omit<PastDue, 'invoiceId'>> {
  const { stripe } = till;
  const customer = await createCustomer(till);
  const attach = async (token: string) =>
    (await stripe.paymentMethods.attach(token, { customer: customer.processorCustomerId })).id;
  const goodCard = await attach('pm_card_visa');
  const { subscription, clientSecret } = await createSubscription(till, { customerId: customer.id });
  await confirmSecret(till, clientSecret, goodCard);
  return { customer, subscription, goodCard, badCard: await attach(badToken) };
}

/** A subscription whose renewal was just declined, at the processor. Till learns of it from webhooks. */
export async function createPastDue(
  till: Client & Pick<TestProcessor, 'stripe' | 'control'>,
  badToken?: string,
): Promise<PastDue> {
  const { stripe, control } = till;
  const active = await createActive(till, badToken);
  const { processorSubscriptionId } = active.subscription;
  await stripe.subscriptions.update(processorSubscriptionId, { default_payment_method: active.badCard });
  await control('clock', { advanceSeconds: renewalSeconds });
  const { latest_invoice: invoiceId } = await stripe.subscriptions.retrieve(processorSubscriptionId);
  const invoice = await stripe.invoices.retrieve(String(invoiceId));
  assert.deepEqual([invoice.status, invoice.billing_reason], ['open', 'subscription_cycle']);
  return { ...active, invoiceId: String(invoiceId) };
}

/** Longer than all retries of a renewal, and shorter than a month. */
const retriesSeconds = 16 * 86_400;

export interface Unpaid extends Omit<PastDue, 'invoiceId'> {
  /**
   * The processor's ids of the renewals that were not paid, the newest first. The oldest is open, the others are
   * drafts.
   */
  readonly invoiceIds: readonly [string, ...string[]];
}

/** A subscription that the processor has marked as unpaid, after this many renewals. */
export async function createUnpaid(
  till: Client & Pick<TestProcessor, 'stripe' | 'control'>,
  missed: number,
  badToken?: string,
): Promise<Unpaid> {
  const { stripe, control } = till;
  await control('dunning', { afterwards: 'unpaid' });
  const { invoiceId: oldest, ...others } = await createPastDue(till, badToken);
  await control('clock', { advanceSeconds: retriesSeconds });
  const { processorSubscriptionId: subscription } = others.subscription;
  for (let renewals = 1; renewals < missed; renewals += 1)
    await control('clock', { advanceSeconds: renewalSeconds });
  const { status } = await stripe.subscriptions.retrieve(subscription);
  const { data } = await stripe.invoices.list({ subscription, limit: missed });
  assert.deepEqual([status, data.length, data.at(-1)?.id], ['unpaid', missed, oldest]);
  assert.ok(data.every((invoice) => invoice.status === (invoice.id === oldest ? 'open' : 'draft')));
  const [newest, ...older] = data.map(({ id }) => String(id));
  return { ...others, invoiceIds: [String(newest), ...older] };
}

export interface PaidBody extends SubscriptionBody {
  readonly olderUnpaidInvoiceIds: readonly string[];
}

export function pay(
  { call }: Client,
  { id }: { readonly id: string },
  body: { readonly paymentMethodId?: string; readonly invoiceId?: string } = {},
  key?: string,
): Promise<Response> {
  return call('POST', `/subscriptions/${id}/pay`, body, key === undefined ? {} : { 'idempotency-key': key });
}

export async function paid(response: Promise<Response>): Promise<PaidBody> {
  return readJson<PaidBody>(await response, 200);
}

/** How often the processor tried to charge for the invoice, and how often it succeeded. */
export async function chargesOf(
  { stripe }: Pick<TestProcessor, 'stripe'>,
  invoiceId: string,
): Promise<{ readonly attempts: number; readonly successes: number }> {
  const { data: payments } = await stripe.invoicePayments.list({ invoice: invoiceId });
  const charges = await Promise.all(
    payments.map(async ({ payment }) => {
      const { data } = await stripe.charges.list({
        payment_intent: String(payment.payment_intent),
        limit: 100,
      });
      return data;
    }),
  );
  const all = charges.flat();
  return { attempts: all.length, successes: all.filter(({ status }) => status === 'succeeded').length };
}

/**
 * Ends every subscription at the processor, before a test that moves the clock. The subscriptions of earlier tests
 * would be renewed too, and each renewal sends about ten webhooks.
 */
export async function endSubscriptions({ stripe }: Pick<TestProcessor, 'stripe'>): Promise<void> {
  // Canceled ones are not in the list.
  for await (const { id, status } of stripe.subscriptions.list({ limit: 100 }))
    if (status !== 'incomplete_expired') await stripe.subscriptions.cancel(id);
}
