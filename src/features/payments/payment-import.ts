import type { OwnFacts } from '#core/model/facts.ts';
import { isAttempted, type PaymentFacts } from '#core/model/payment.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { mergeApplied } from '#engine/mirrors/apply-facts.ts';
import { noRevisions } from '#engine/mirrors/refresh.ts';
import { withLocalId } from '#engine/sync/adopted-facts.ts';
import { noCustomer, rowsOf, type Stage } from '#engine/sync/import-stage.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { InvoiceMirror } from '../invoices/invoice-mirror.ts';
import type { PaymentMirror } from './payment-mirror.ts';
import type { ChargedPayment } from './subscription-charges.ts';

interface ImportContext {
  readonly processor: Processor;
  readonly mirrors: { readonly payments: PaymentMirror; readonly invoices: InvoiceMirror };
}

/** The clock skew to allow for. An unneeded lookup of a payment only costs one read. */
export const clockSkewMsMax = 300_000;

interface ListedPayment {
  readonly facts: PaymentFacts;
  /** The invoice that it pays. Null if it pays none, undefined if this is unknown. */
  readonly processorInvoiceId?: string | null;
}

type PaymentStage = Stage<ListedPayment>;

/**
 * Payments of invoices. A list of payment intents does not show which ones pay an invoice, and reading each of them
 * would take hours. So these are adopted first, from a list that shows it. The list of payments counts them.
 */
export function chargeStage(context: ImportContext): PaymentStage {
  return {
    ...sharedBy(context),
    list: async function* (after) {
      for await (const page of context.processor.invoices.listPayments({ after })) {
        const items = page.items.map(({ payment, processorInvoiceId }) => ({
          ...listed(payment),
          processorInvoiceId,
        }));
        yield { ...page, items };
      }
    },
    isAhead: true,
  };
}

/** The list of disputes shows them later, without a read for each. */
function listed(facts: PaymentFacts): ListedPayment {
  return { facts: { ...facts, isDisputed: false } };
}

/** For `knownUntil`, see `chargesKnownUntil`. */
export function paymentStage(context: ImportContext, knownUntil: Date | null): PaymentStage {
  const { invoices } = context.processor;
  return {
    ...sharedBy(context),
    list: async function* (after) {
      for await (const page of context.processor.payments.list({ after }))
        yield { ...page, items: page.items.map(listed) };
    },
    complete: async ({ facts }) => ({
      facts,
      processorInvoiceId: needsLookUp(facts, knownUntil)
        ? await invoices.findOfPayment(facts.processorPaymentIntentId)
        : null,
    }),
  };
}

/**
 * Whether a lookup must show if a payment without a row pays an invoice. A payment that was charged before `knownUntil`
 * pays none, because the list of charges has all that do. An uncharged payment is looked up, even in a dry run: if
 * it pays an invoice, it does not count as a payment yet.
 */
function needsLookUp(facts: PaymentFacts, knownUntil: Date | null): boolean {
  if (facts.localId !== null || facts.processorCustomerId === null) return false;
  if (knownUntil === null) return !isAttempted(facts);
  const chargedAt = facts.charge?.createdAt.getTime() ?? Number.POSITIVE_INFINITY;
  return chargedAt >= knownUntil.getTime() - clockSkewMsMax;
}

function sharedBy({
  mirrors,
}: ImportContext): Pick<PaymentStage, 'mirror' | 'idOf' | 'keyOf' | 'findRows' | 'refuse' | 'apply'> {
  const keyOf = ({ facts }: ListedPayment) => mirrors.payments.keyOf(facts);
  /** Payments of subscription invoices. All others are like payments that were created through the API. */
  const split = async (tx: Transaction, items: readonly ListedPayment[]) => {
    const invoices = await mirrors.invoices.findByKeys(
      tx,
      items.flatMap(({ processorInvoiceId }) => processorInvoiceId ?? []),
    );
    const byKey = new Map(invoices.map((invoice) => [invoice.processorInvoiceId, invoice]));
    const [charges, others, lost]: [ChargedPayment[], PaymentFacts[], string[]] = [[], [], []];
    for (const { facts, processorInvoiceId } of items) {
      const invoice = byKey.get(processorInvoiceId ?? '');
      if (processorInvoiceId == null) others.push(adoptPayment(facts));
      // A refresh recovers the invoice, which is newer than the list of invoices.
      else if (invoice === undefined || invoice.customerId === null) lost.push(mirrors.payments.keyOf(facts));
      else if (invoice.processorSubscriptionId === null) others.push(adoptPayment(facts));
      else {
        const { customerId, processorSubscriptionId } = invoice;
        charges.push({ facts, charge: { customerId, processorInvoiceId, processorSubscriptionId } });
      }
    }
    return { charges, others, lost };
  };
  return {
    mirror: mirrors.payments,
    idOf: keyOf,
    keyOf,
    findRows: rowsOf(mirrors.payments, 'processorPaymentIntentId'),
    refuse: ({ facts, processorInvoiceId }) => {
      if (facts.processorCustomerId === null) return noCustomer;
      const isUnpaidCharge = processorInvoiceId != null && !isAttempted(facts);
      return isUnpaidCharge
        ? `It belongs to the invoice ${processorInvoiceId}, and there was no attempt to pay it yet.`
        : undefined;
    },
    apply: async (tx, items) => {
      // Two mirrors in sequence would not lock the rows in the order of their ids.
      await mirrors.payments.lock(tx, items.map(keyOf));
      const { charges, others, lost } = await split(tx, items);
      const applied = [
        await mirrors.payments.apply(tx, others, noRevisions),
        ...(charges.length === 0 ? [] : [await mirrors.payments.recordCharges(tx, charges)]),
      ];
      const { changed, ignored, unsettled } = mergeApplied(applied);
      return { changed, ignored, unsettled: [...unsettled, ...lost] };
    },
  };
}

export function adoptingPayments({ payments, invoices }: Processor): Pick<Processor, 'payments'> {
  return {
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
  };
}

/** A payment intent that does not pay an invoice. */
function adoptPayment<Facts extends OwnFacts & { readonly processorPaymentIntentId: string }>(
  facts: Facts,
): Facts {
  return withLocalId(facts, 'payment', facts.processorPaymentIntentId);
}
