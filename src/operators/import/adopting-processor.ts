import type { CustomerFacts } from '#core/model/customer.ts';
import type { OwnFacts } from '#core/model/facts.ts';
import type { InvoiceFacts } from '#core/model/invoice.ts';
import type { PlanFacts } from '#core/model/plan.ts';
import type { RefundFacts } from '#core/model/refund.ts';
import type { SubscriptionFacts } from '#core/model/subscription.ts';
import type { SubscriptionItemFacts } from '#core/model/subscription-items.ts';
import { derivedId } from '#core/platform/id.ts';
import type { Pages } from '#processor/port/pages.ts';
import type { Processor } from '#processor/port/processor.ts';

/**
 * The processor as an import sees it: every object has a Till id. So the mirrors treat an object that Till did not
 * create like one whose row was lost, and create its row. The Till id derives from the processor's id, so that an
 * object that is adopted again after the restore of a backup gets the same id. Nothing is written at the processor.
 */
export function adoptingProcessor(processor: Processor): Processor {
  const { customers, plans, subscriptions, invoices, payments, refunds } = processor;
  return {
    ...processor,
    customers: {
      ...customers,
      read: async (id) => {
        const facts = await customers.read(id);
        return facts === null || facts === 'deleted' ? facts : adoptCustomer(facts);
      },
      list: (filter) => mapItems(customers.list(filter), adoptCustomer),
    },
    plans: {
      ...plans,
      read: async (id) => ifFound(await plans.read(id), adoptPlan),
      list: (filter) => mapItems(plans.list(filter), adoptPlan),
    },
    subscriptions: {
      ...subscriptions,
      read: async (id) =>
        ifFound(await subscriptions.read(id), (found) => ({
          ...found,
          subscription: adoptSubscription(found.subscription),
        })),
      list: (filter) => mapItems(subscriptions.list(filter), adoptSubscription),
    },
    invoices: {
      ...invoices,
      read: async (id) => ifFound(await invoices.read(id), adoptInvoice),
      list: (filter) => mapItems(invoices.list(filter), adoptInvoice),
    },
    payments: {
      ...payments,
      // A payment of an invoice belongs to the invoice's subscription, and gets its row from there. A list does not
      // show which payments these are, so its items are adopted one by one.
      read: async (id) => {
        const found = await payments.read(id);
        if (found === null || found.payment.localId !== null) return found;
        const isCharge = (await invoices.findOfPayment(id)) !== null;
        return isCharge ? found : { ...found, payment: adoptPayment(found.payment) };
      },
    },
    refunds: {
      ...refunds,
      read: async (id) => ifFound(await refunds.read(id), adoptRefund),
      list: (place) => mapItems(refunds.list(place), adoptRefund),
    },
    events: {
      ...processor.events,
      // This would search for the Till id of a deleted customer. A customer that Till did not create has none, and each
      // search lists all deletions of a month.
      findDeletedCustomer: async () => null,
    },
  };
}

/** A payment intent that does not pay an invoice. */
export function adoptPayment<Facts extends OwnFacts & { readonly processorPaymentIntentId: string }>(
  facts: Facts,
): Facts {
  return withLocalId(facts, 'payment', facts.processorPaymentIntentId);
}

/** Whether Till did not create the subscription: it has no Till id, or only the one that was added here. */
export function isForeignSubscription(facts: SubscriptionFacts): boolean {
  const { localId, processorSubscriptionId, createdAt } = facts;
  return localId === null || localId === derivedId('subscription', processorSubscriptionId, createdAt);
}

function adoptCustomer(facts: CustomerFacts): CustomerFacts {
  return withLocalId(facts, 'customer', facts.processorCustomerId);
}

/** A price that cannot be a Till plan may belong to other applications. */
function adoptPlan({ product, price }: PlanFacts): PlanFacts {
  const isPlan = price.obstacle === undefined;
  return { product, price: isPlan ? withLocalId(price, 'plan', price.processorPriceId) : price };
}

/** A subscription without a price that can be a plan may belong to other applications. */
function adoptSubscription(facts: SubscriptionFacts): SubscriptionFacts {
  const { processorSubscriptionId, createdAt } = facts;
  const [first, ...others] = facts.items;
  const adopt = (item: SubscriptionItemFacts) => adoptItem(item, createdAt);
  const whole: SubscriptionFacts = { ...facts, items: [adopt(first), ...others.map(adopt)] };
  return facts.items.some(isPlanPrice) ? withLocalId(whole, 'subscription', processorSubscriptionId) : whole;
}

/** Whether the price of an item is a Till plan or can become one. */
export function isPlanPrice({ obstacle }: SubscriptionItemFacts): boolean {
  return obstacle === undefined;
}

/** A price with a Till id makes the mirror recover its plan. The plan itself has another id. */
function adoptItem(item: SubscriptionItemFacts, createdAt: Date): SubscriptionItemFacts {
  const { planLocalId, processorPriceId, obstacle } = item;
  if (obstacle !== undefined) return item;
  return { ...item, planLocalId: planLocalId ?? derivedId('plan', processorPriceId, createdAt) };
}

/** An invoice of a subscription with a Till id makes the mirror recover its customer. */
function adoptInvoice(facts: InvoiceFacts): InvoiceFacts {
  const { subscriptionLocalId, processorInvoiceId, createdAt } = facts;
  return {
    ...facts,
    subscriptionLocalId: subscriptionLocalId ?? derivedId('subscription', processorInvoiceId, createdAt),
  };
}

function adoptRefund(facts: RefundFacts): RefundFacts {
  return withLocalId(facts, 'refund', facts.processorRefundId);
}

function withLocalId<Facts extends OwnFacts>(facts: Facts, kind: string, processorId: string): Facts {
  return facts.localId === null
    ? { ...facts, localId: derivedId(kind, processorId, facts.createdAt) }
    : facts;
}

function ifFound<T>(value: T | null, map: (value: T) => T): T | null {
  return value === null ? null : map(value);
}

async function* mapItems<T>(pages: Pages<T>, map: (item: T) => T): Pages<T> {
  for await (const page of pages) yield { ...page, items: page.items.map(map) };
}
