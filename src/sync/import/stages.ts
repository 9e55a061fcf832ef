import { withRecovery } from '../../mirrors/apply-facts.ts';
import { noRevisions } from '../../mirrors/refresh.ts';
import type { CustomerFacts } from '../../model/customer.ts';
import type { DisputeFacts } from '../../model/dispute.ts';
import type { Applied } from '../../model/fold.ts';
import type { InvoiceFacts } from '../../model/invoice.ts';
import type { PlanFacts } from '../../model/plan.ts';
import { priceObstacles } from '../../model/price-obstacle.ts';
import type { RefundFacts } from '../../model/refund.ts';
import type { SubscriptionFacts } from '../../model/subscription.ts';
import type { Queryable } from '../../platform/postgres.ts';
import type { Processor } from '../../processor/port/processor.ts';
import type { Stores } from '../../till/compose-stores.ts';
import type { Mirrors } from '../mirrors.ts';
import { countPlanPrices, isForeignSubscription } from './adopting-processor.ts';
import type { Stage } from './stage.ts';

export interface StageParts {
  /** Shows every object with a Till id, like the processor of the mirrors. */
  readonly processor: Processor;
  readonly mirrors: Mirrors;
  readonly stores: Stores;
}

export function planStage({ processor, mirrors, stores }: StageParts): Stage<PlanFacts> {
  const keyOf = (facts: PlanFacts) => mirrors.plans.keyOf(facts);
  return {
    name: 'plan',
    mirror: mirrors.plans,
    list: (after) => processor.plans.list({ after }),
    idOf: keyOf,
    keyOf,
    findRows: rowsOf(stores.plans, 'processorPriceId'),
    refuse: ({ product, price }) => {
      if (price.obstacle !== undefined) return priceObstacles[price.obstacle];
      if (product.deleted) return 'The product of the price is deleted.';
      return product.name === null ? 'The product of the price has no name.' : undefined;
    },
    apply: async (tx, facts) => {
      const made = await mirrors.plans.record(tx, facts);
      const applied = await mirrors.plans.apply(tx, facts, noRevisions);
      return withRecovery(applied, { made: made.map(({ processorPriceId }) => processorPriceId) });
    },
  };
}

export function customerStage({ processor, mirrors, stores }: StageParts): Stage<CustomerFacts> {
  const keyOf = (facts: CustomerFacts) => mirrors.customers.keyOf(facts);
  return {
    name: 'customer',
    mirror: mirrors.customers,
    list: (after) => processor.customers.list({ after }),
    idOf: keyOf,
    keyOf,
    findRows: rowsOf(stores.customers, 'processorCustomerId'),
    refuse: () => undefined,
    apply: (tx, facts) => mirrors.customers.apply(tx, facts, noRevisions),
  };
}

/**
 * A subscription shows one plan, so one of several plans has no row: see `SubscriptionMirror`. Prices that cannot be plans,
 * such as metered usage beside a plan, do not matter.
 */
export function subscriptionStage({ processor, mirrors, stores }: StageParts): Stage<SubscriptionFacts> {
  const keyOf = (facts: SubscriptionFacts) => mirrors.subscriptions.keyOf(facts);
  return {
    name: 'subscription',
    mirror: mirrors.subscriptions,
    list: (after) => processor.subscriptions.list({ after }),
    idOf: keyOf,
    keyOf,
    findRows: rowsOf(stores.subscriptions, 'processorSubscriptionId'),
    refuse: (facts) => {
      if (facts.processorCustomerId === null) return noCustomer;
      // One that Till created was lost, and is recovered whatever was changed at the processor since.
      if (!isForeignSubscription(facts)) return undefined;
      const plans = countPlanPrices(facts);
      if (plans > 1) return `It bills ${plans} plans, and a subscription has one.`;
      const [{ obstacle, processorPriceId }] = facts.items;
      return plans === 0 && obstacle ? `${priceObstacles[obstacle]} (${processorPriceId})` : undefined;
    },
    apply: (tx, facts) => mirrors.subscriptions.apply(tx, facts, noRevisions),
  };
}

/**
 * Invoices without a customer have a row too. The processor's lists of customers and subscriptions leave out those of
 * test clocks, which their invoices bring here, and those that were made since.
 */
export function invoiceStage({ processor, mirrors, stores }: StageParts): Stage<InvoiceFacts> {
  const keyOf = (facts: InvoiceFacts) => mirrors.invoices.keyOf(facts);
  return {
    name: 'invoice',
    mirror: {
      resource: 'invoice',
      refresh: async (key) => {
        const applied = await mirrors.invoices.refresh(key);
        const { processorSubscriptionId = null } = (await mirrors.invoices.findOrRefresh(key)) ?? {};
        if (processorSubscriptionId !== null)
          await mirrors.subscriptions.findOrRefresh(processorSubscriptionId);
        return applied;
      },
    },
    list: (after) => processor.invoices.list({ after }),
    idOf: keyOf,
    keyOf,
    // Webhooks store the invoices of all customers. One whose customer is not here yet is still to be adopted.
    findRows: async (db, keys) => {
      const rows = await stores.invoices.findByKeys(db, keys);
      const whole = rows.filter((row) => row.customerId !== null || row.processorCustomerId === null);
      return new Set(whole.map(({ processorInvoiceId }) => processorInvoiceId));
    },
    refuse: () => undefined,
    apply: (tx, facts) => mirrors.invoices.apply(tx, facts, noRevisions),
    // A list shows the first lines of an invoice.
    isPartial: ({ coversUntil, status, processorSubscriptionId }) =>
      coversUntil === undefined && status === 'paid' && processorSubscriptionId !== null,
  };
}

export function refundStage({ processor, mirrors, stores }: StageParts): Stage<RefundFacts> {
  const keyOf = (facts: RefundFacts) => mirrors.refunds.keyOf(facts);
  return {
    name: 'refund',
    mirror: mirrors.refunds,
    list: (after) => processor.refunds.list({ after }),
    idOf: keyOf,
    keyOf,
    findRows: rowsOf(stores.refunds, 'processorRefundId'),
    refuse: ({ processorPaymentIntentId, processorCustomerId }) => {
      if (processorPaymentIntentId === null) return 'It refunds a charge that belongs to no payment intent.';
      return processorCustomerId === null ? paymentWithoutCustomer : undefined;
    },
    apply: (tx, facts) => mirrors.refunds.apply(tx, facts, noRevisions),
  };
}

/** A payment shows its newest dispute. */
export function disputeStage({ processor, mirrors, stores }: StageParts): Stage<DisputeFacts> {
  return {
    name: 'dispute',
    mirror: mirrors.disputes,
    list: (after) => processor.disputes.list({ after }),
    idOf: ({ processorDisputeId }) => processorDisputeId,
    keyOf: (facts) => mirrors.disputes.keyOf(facts),
    findRows: async (db, keys) => {
      const payments = await stores.payments.findByKeys(db, keys);
      const disputed = payments.filter(({ dispute }) => dispute !== null);
      return new Set(disputed.map(({ processorPaymentIntentId }) => processorPaymentIntentId));
    },
    refuse: ({ processorCustomerId }) => (processorCustomerId === null ? paymentWithoutCustomer : undefined),
    // The payment may be newer than the list of payments.
    apply: async (tx, facts) => refreshIgnored(await mirrors.disputes.apply(tx, facts, noRevisions)),
  };
}

export const noCustomer = 'It has no customer.';
const paymentWithoutCustomer = 'Its payment has no customer.';

function refreshIgnored(applied: Applied): Applied {
  return { ...applied, unsettled: [...applied.unsettled, ...applied.ignored] };
}

/** Which of the keys have a row, by the field that holds the processor's id. */
export function rowsOf<Field extends string>(
  store: {
    findByKeys(
      db: Queryable,
      keys: readonly string[],
    ): Promise<readonly { readonly [F in Field]: string | null }[]>;
  },
  field: Field,
): Stage<never>['findRows'] {
  return async (db, keys) => {
    const rows = keys.length === 0 ? [] : await store.findByKeys(db, keys);
    return new Set(rows.flatMap((row) => row[field] ?? []));
  };
}
