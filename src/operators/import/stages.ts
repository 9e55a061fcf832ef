import type { CustomerFacts } from '#core/model/customer.ts';
import type { DisputeFacts } from '#core/model/dispute.ts';
import type { Applied } from '#core/model/fold.ts';
import type { InvoiceFacts } from '#core/model/invoice.ts';
import type { PlanFacts } from '#core/model/plan.ts';
import { priceObstacles } from '#core/model/price-obstacle.ts';
import type { RefundFacts } from '#core/model/refund.ts';
import type { SubscriptionFacts } from '#core/model/subscription.ts';
import type { SubscriptionItemFacts } from '#core/model/subscription-items.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import { withRecovery } from '#engine/mirrors/apply-facts.ts';
import { type MirroredList, mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { noRevisions } from '#engine/mirrors/refresh.ts';
import type { Mirrors } from '#features/mirrors.ts';
import type { Processor } from '#processor/port/processor.ts';
import { isForeignSubscription, isPlanPrice } from './adopting-processor.ts';
import type { StageName } from './import-progress.ts';
import type { Stage } from './stage.ts';

export interface StageParts {
  /** Shows every object with a Till id, like the processor of the mirrors. */
  readonly processor: Processor;
  readonly mirrors: Mirrors;
}

export function planStage({ processor, mirrors }: StageParts): Stage<PlanFacts> {
  return {
    ...stageOf(
      'plan',
      mirroredList(mirrors.plans, processor.plans),
      rowsOf(mirrors.plans, 'processorPriceId'),
    ),
    refuse: ({ product, price }) => {
      if (price.obstacle !== undefined) return priceObstacles[price.obstacle];
      if (product.deleted) return 'The product of the price is deleted.';
      return product.name === null ? 'The product of the price has no name.' : undefined;
    },
    apply: async (tx, facts) => {
      const created = await mirrors.plans.record(tx, facts);
      const applied = await mirrors.plans.apply(tx, facts, noRevisions);
      return withRecovery(applied, { created: created.map(({ processorPriceId }) => processorPriceId) });
    },
  };
}

export function customerStage({ processor, mirrors }: StageParts): Stage<CustomerFacts> {
  return stageOf(
    'customer',
    mirroredList(mirrors.customers, processor.customers),
    rowsOf(mirrors.customers, 'processorCustomerId'),
  );
}

/**
 * A subscription with at least one plan is adopted. Other prices, such as metered usage, are shown beside its plans.
 * `refused` has prices and customers that are known to have no row: a dry run cannot look for their rows.
 */
export function subscriptionStage(
  { processor, mirrors }: StageParts,
  refused: ReadonlySet<string> = new Set(),
): Stage<SubscriptionFacts> {
  return {
    ...stageOf(
      'subscription',
      mirroredList(mirrors.subscriptions, processor.subscriptions),
      rowsOf(mirrors.subscriptions, 'processorSubscriptionId'),
    ),
    complete: (facts) => withAllItems(processor, facts),
    refuse: (facts) => {
      const { processorCustomerId, items } = facts;
      if (processorCustomerId === null) return noCustomer;
      if (refused.has(processorCustomerId)) return `Its customer is left out (${processorCustomerId}).`;
      // Till created this subscription and lost its row. It is recovered, whatever was changed at the processor since.
      if (!isForeignSubscription(facts)) return undefined;
      const isPlan = (item: SubscriptionItemFacts) =>
        isPlanPrice(item) && !refused.has(item.processorPriceId);
      if (items.some(isPlan)) return undefined;
      return items
        .map(({ obstacle, processorPriceId }) => {
          const reason = obstacle === undefined ? 'Its price is left out.' : priceObstacles[obstacle];
          return `${reason} (${processorPriceId})`;
        })
        .join(' ');
    },
  };
}

/** A list shows the first ten items of a subscription. The plan may be another one. */
export async function withAllItems(
  { subscriptions }: Pick<Processor, 'subscriptions'>,
  listed: SubscriptionFacts,
): Promise<SubscriptionFacts> {
  const read = listed.hasMoreItems ? await subscriptions.read(listed.processorSubscriptionId) : null;
  return read?.subscription ?? listed;
}

/**
 * Invoices without a customer also have a row. The processor's lists leave out the customers and subscriptions of test
 * clocks. Their invoices are listed, and make the import adopt them. The same holds for customers and subscriptions
 * that were created since their lists were read.
 */
export function invoiceStage({ processor, mirrors }: StageParts): Stage<InvoiceFacts> {
  // Webhooks store the invoices of all customers. An invoice whose customer has no row yet must still be adopted.
  const findRows: Stage<InvoiceFacts>['findRows'] = async (db, keys) => {
    const rows = await mirrors.invoices.findByKeys(db, keys);
    const whole = rows.filter((row) => row.customerId !== null || row.processorCustomerId === null);
    return new Set(whole.map(({ processorInvoiceId }) => processorInvoiceId));
  };
  return {
    ...stageOf('invoice', mirroredList(mirrors.invoices, processor.invoices), findRows),
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
    // A list shows only the first lines of an invoice.
    isPartial: ({ coversUntil, status, processorSubscriptionId }) =>
      coversUntil === undefined && status === 'paid' && processorSubscriptionId !== null,
  };
}

export function refundStage({ processor, mirrors }: StageParts): Stage<RefundFacts> {
  return {
    ...stageOf(
      'refund',
      mirroredList(mirrors.refunds, processor.refunds),
      rowsOf(mirrors.refunds, 'processorRefundId'),
    ),
    refuse: ({ processorPaymentIntentId, processorCustomerId }) => {
      if (processorPaymentIntentId === null) return 'It refunds a charge that belongs to no payment intent.';
      return processorCustomerId === null ? paymentWithoutCustomer : undefined;
    },
  };
}

/** A payment shows its newest dispute. */
export function disputeStage({ processor, mirrors }: StageParts): Stage<DisputeFacts> {
  const findRows: Stage<DisputeFacts>['findRows'] = async (db, keys) => {
    const payments = await mirrors.payments.findByKeys(db, keys);
    const disputed = payments.filter(({ dispute }) => dispute !== null);
    return new Set(disputed.map(({ processorPaymentIntentId }) => processorPaymentIntentId));
  };
  return {
    ...stageOf('dispute', mirroredList(mirrors.disputes, processor.disputes), findRows),
    idOf: ({ processorDisputeId }) => processorDisputeId,
    refuse: ({ processorCustomerId }) => (processorCustomerId === null ? paymentWithoutCustomer : undefined),
    // The payment may be newer than the list of payments.
    apply: async (tx, facts) => refreshIgnored(await mirrors.disputes.apply(tx, facts, noRevisions)),
  };
}

/** The stage of a list as a resync compares it. It adopts every object, unless `refuse` is replaced. */
function stageOf<Facts>(
  name: StageName,
  { mirror, list }: MirroredList<Facts>,
  findRows: Stage<Facts>['findRows'],
): Stage<Facts> {
  const keyOf = (facts: Facts) => mirror.keyOf(facts);
  return {
    name,
    mirror,
    list: (after) => list({ after }),
    idOf: keyOf,
    keyOf,
    findRows,
    refuse: () => undefined,
    apply: (tx, facts) => mirror.apply(tx, facts, noRevisions),
  };
}

export const noCustomer = 'It has no customer.';
const paymentWithoutCustomer = 'Its payment has no customer.';

function refreshIgnored(applied: Applied): Applied {
  return { ...applied, unsettled: [...applied.unsettled, ...applied.ignored] };
}

/** The ids that have a row, by the field that contains the processor's id. */
export function rowsOf<Field extends string>(
  mirror: {
    findByKeys(
      db: Queryable,
      keys: readonly string[],
    ): Promise<readonly { readonly [F in Field]: string | null }[]>;
  },
  field: Field,
): Stage<never>['findRows'] {
  return async (db, keys) => {
    const rows = keys.length === 0 ? [] : await mirror.findByKeys(db, keys);
    return new Set(rows.flatMap((row) => row[field] ?? []));
  };
}
