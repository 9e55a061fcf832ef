import type { Stripe } from 'stripe';

/** What the processor's own objects say about a customer. Nothing here knows Till's code. */
export interface PayingCustomer {
  readonly email: string | null;
  /** A subscription is active or in its trial. */
  readonly pays: boolean;
  /** It should have access: it pays, or the paid time and the grace period of a late payer have not ended. */
  readonly hasAccess: boolean;
  /** A subscription that it pays for has a price with a fixed amount for each unit and interval. */
  readonly hasPlan: boolean;
  readonly liveCount: number;
}

/** Every customer of the account, by id, read through the official client. */
export async function findPayingCustomers(
  stripe: Stripe,
  { nowMs, graceDays }: { readonly nowMs: number; readonly graceDays: number },
): Promise<ReadonlyMap<string, PayingCustomer>> {
  const paidUntil = await findPaidUntil(stripe);
  const subscriptions = new Map<string, Stripe.Subscription[]>();
  for await (const one of stripe.subscriptions.list({ status: 'all', limit: 100 })) {
    const id = String(one.customer);
    subscriptions.set(id, [...(subscriptions.get(id) ?? []), one]);
  }
  const customers = new Map<string, PayingCustomer>();
  for await (const { id, email } of stripe.customers.list({ limit: 100 })) {
    const own = subscriptions.get(id) ?? [];
    const paying = own.filter(({ status }) => status === 'active' || status === 'trialing');
    const late = own.filter(({ status }) => status === 'past_due');
    const graceMs = graceDays * 86_400_000;
    const isInGrace = late.some((one) => (paidUntil.get(one.id) ?? 0) * 1_000 + graceMs > nowMs);
    const live = own.filter(({ status }) =>
      ['active', 'trialing', 'past_due', 'unpaid', 'paused'].includes(status),
    );
    customers.set(id, {
      email,
      pays: paying.length > 0,
      hasAccess: paying.some(hasPlanPrice) || isInGrace,
      hasPlan: paying.some(hasPlanPrice),
      liveCount: live.length,
    });
  }
  return customers;
}

function hasPlanPrice({ items }: Stripe.Subscription): boolean {
  return items.data.some(
    ({ price }) =>
      price.recurring?.usage_type === 'licensed' &&
      price.billing_scheme === 'per_unit' &&
      price.unit_amount !== null &&
      price.transform_quantity === null,
  );
}

/** The end of what was paid for each subscription, in seconds. */
async function findPaidUntil(stripe: Stripe): Promise<ReadonlyMap<string, number>> {
  const ends = new Map<string, number>();
  for await (const { status, parent, lines } of stripe.invoices.list({ limit: 100 })) {
    const subscription = parent?.subscription_details?.subscription;
    if (status !== 'paid' || subscription == null) continue;
    const end = Math.max(...lines.data.map(({ period }) => period.end));
    ends.set(String(subscription), Math.max(end, ends.get(String(subscription)) ?? 0));
  }
  return ends;
}

/** Which customer must get each value of the metadata key as its external id. */
export async function findExternalIdOwners(
  stripe: Stripe,
  key: string,
): Promise<ReadonlyMap<string, string>> {
  const paidAt = new Map<string, number>();
  for await (const { customer, created, status } of stripe.paymentIntents.list({ limit: 100 }))
    if (status === 'succeeded')
      paidAt.set(String(customer), Math.max(created, paidAt.get(String(customer)) ?? 0));
  const rank = new Map<string, number>();
  for await (const { customer, status } of stripe.subscriptions.list({ limit: 100 })) {
    const isPaying = status === 'active' || status === 'trialing';
    const isLive = ['past_due', 'unpaid', 'paused'].includes(status);
    rank.set(String(customer), Math.max(isPaying ? 2 : isLive ? 1 : 0, rank.get(String(customer)) ?? 0));
  }
  const owners = new Map<string, readonly [id: string, live: number, paid: number]>();
  // Newest first.
  for await (const { id, metadata } of stripe.customers.list({ limit: 100 })) {
    const value = metadata[key];
    if (value === undefined) continue;
    const [live, paid] = [rank.get(id) ?? 0, paidAt.get(id) ?? 0];
    const best = owners.get(value);
    if (best === undefined || live > best[1] || (live === best[1] && paid > best[2]))
      owners.set(value, [id, live, paid]);
  }
  return new Map([...owners].map(([value, [id]]) => [value, id]));
}
