import type { InvoiceFacts } from '#core/model/invoice.ts';
import { derivedId } from '#core/platform/id.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { ifFound, mapItems } from '#engine/sync/adopted-facts.ts';
import { type Stage, stageOf } from '#engine/sync/import-stage.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { InvoiceMirror } from './invoice-mirror.ts';

export interface ImportContext {
  readonly processor: Processor;
  readonly mirrors: {
    readonly invoices: InvoiceMirror;
    readonly subscriptions: { findOrRefresh(key: string): Promise<unknown> };
  };
}

/**
 * Invoices without a customer also have a row. The processor's lists leave out the customers and subscriptions of test
 * clocks. Their invoices are listed, and make the import adopt them. The same holds for customers and subscriptions
 * that were created since their lists were read.
 */
export function invoiceStage({ processor, mirrors }: ImportContext): Stage<InvoiceFacts> {
  // Webhooks store the invoices of all customers. An invoice whose customer has no row yet must still be adopted.
  const findRows: Stage<InvoiceFacts>['findRows'] = async (db, keys) => {
    const rows = await mirrors.invoices.findByKeys(db, keys);
    const whole = rows.filter((row) => row.customerId !== null || row.processorCustomerId === null);
    return new Set(whole.map(({ processorInvoiceId }) => processorInvoiceId));
  };
  return {
    ...stageOf(mirroredList(mirrors.invoices, processor.invoices), findRows),
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

export function adoptingInvoices({ invoices }: Processor): Pick<Processor, 'invoices'> {
  return {
    invoices: {
      ...invoices,
      read: async (id) => ifFound(await invoices.read(id), adoptInvoice),
      list: (filter) => mapItems(invoices.list(filter), adoptInvoice),
    },
  };
}

/** An invoice of a subscription with a Till id makes the mirror recover its customer. */
function adoptInvoice(facts: InvoiceFacts): InvoiceFacts {
  const { subscriptionLocalId, processorInvoiceId, createdAt } = facts;
  return {
    ...facts,
    subscriptionLocalId: subscriptionLocalId ?? derivedId('subscription', processorInvoiceId, createdAt),
  };
}
