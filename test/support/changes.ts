import { type Client, readJson } from './client.ts';
import {
  type AddOnBody,
  type CreatedSubscriptionBody,
  type CustomerBody,
  confirmSecret,
  createCustomer,
  createPlan,
  createSubscription,
  type PlanBody,
  readSubscription,
  type SubscriptionBody,
} from './objects.ts';
import type { TillInProcess } from './till-in-process.ts';

export interface PreviewBody {
  readonly amountDue: number;
  readonly currency: string;
  readonly billedNow: boolean;
  readonly prorationDate: string | null;
  readonly lines: readonly {
    readonly description: string | null;
    readonly amount: number;
    readonly periodStart: string;
    readonly periodEnd: string;
    readonly proration: boolean;
  }[];
}

export interface Subscribed {
  readonly plan: PlanBody;
  readonly subscription: SubscriptionBody;
  readonly path: string;
  readonly change: (body: object) => Promise<Response>;
  readonly changed: (body: object) => Promise<CreatedSubscriptionBody>;
  readonly previewed: (body: object) => Promise<PreviewBody>;
  readonly read: () => Promise<SubscriptionBody>;
}

type Till = Client & Pick<TillInProcess, 'stripe'>;

/** An active subscription, paid with a card that works. `card` is the one that later charges use. */
export async function subscribed(
  till: Till,
  {
    planId,
    card,
    addOns = [],
    ...values
  }: {
    readonly planId?: string;
    readonly card?: string;
    readonly customerId?: string;
    readonly addOns?: readonly AddOnBody[];
    /** The customer's default, for a plan that costs nothing at first. */
    readonly customerCard?: string;
  } = {},
): Promise<Subscribed> {
  const { call } = till;
  const plan = planId === undefined ? await createPlan(till) : await till.get<PlanBody>(`/plans/${planId}`);
  const customerId = values.customerId ?? (await createCustomer(till)).id;
  if (values.customerCard !== undefined) await useCardOfCustomer(till, customerId, values.customerCard);
  const { subscription, clientSecret } = await createSubscription(till, {
    ...{ customerId, planId: plan.id },
    ...(addOns.length === 0 ? {} : { addOns }),
  });
  if (clientSecret !== null) await confirmSecret(till, clientSecret);
  if (card !== undefined) await useCard(till, subscription, card);
  const path = `/subscriptions/${subscription.id}`;
  const change = (body: object) => call('PATCH', path, body);
  return {
    plan,
    subscription,
    path,
    change,
    changed: async (body) => readJson(await change(body), 200),
    previewed: async (body) => readJson(await call('POST', `${path}/preview`, body), 200),
    read: () => readSubscription(till, subscription),
  };
}

async function useCardOfCustomer(till: Till, customerId: string, card: string): Promise<void> {
  const { processorCustomerId: customer } = await till.get<CustomerBody>(`/customers/${customerId}`);
  const { id } = await till.stripe.paymentMethods.attach(card, { customer });
  await till.stripe.customers.update(customer, { invoice_settings: { default_payment_method: id } });
}

/** Later charges of the subscription use this card. */
export async function useCard(
  { stripe }: Pick<Till, 'stripe'>,
  { processorSubscriptionId }: Pick<SubscriptionBody, 'processorSubscriptionId'>,
  card: string,
): Promise<void> {
  const { customer } = await stripe.subscriptions.retrieve(processorSubscriptionId);
  const { id } = await stripe.paymentMethods.attach(card, { customer: String(customer) });
  await stripe.subscriptions.update(processorSubscriptionId, { default_payment_method: id });
}

/** What the processor will bill with the next invoice of the subscription's customer, the oldest first. */
export async function waitingItems(
  { stripe }: Pick<Till, 'stripe'>,
  { processorSubscriptionId }: Pick<SubscriptionBody, 'processorSubscriptionId'>,
) {
  const { customer } = await stripe.subscriptions.retrieve(processorSubscriptionId);
  const { data } = await stripe.invoiceItems.list({ customer: String(customer), pending: true, limit: 100 });
  return data.toReversed();
}

/** The newest invoice of a subscription at the processor. */
export async function newestInvoice(
  { stripe }: Pick<Till, 'stripe'>,
  { processorSubscriptionId }: Pick<SubscriptionBody, 'processorSubscriptionId'>,
) {
  const { data } = await stripe.invoices.list({ subscription: processorSubscriptionId, limit: 1 });
  const [invoice] = data;
  if (invoice === undefined) throw new Error('the subscription has no invoice');
  return invoice;
}
