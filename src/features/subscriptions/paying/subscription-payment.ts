import { Failure } from '#core/errors.ts';
import type { Subscription, SubscriptionFacts } from '#core/model/subscription.ts';
import { parentOf, processorKeyLifeMs } from '#engine/idempotency/claim.ts';
import type { CheckedOperation, FoundClaim, OperationWrite } from '#engine/idempotency/operation.ts';
import { applyInTransaction, applyResponse } from '#engine/mirrors/refresh.ts';
import { notReached } from '#processor/port/attempt.ts';
import type { Declined, SubscriptionToPay } from '#processor/port/invoice-payment.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { InvoiceMirror } from '../../invoices/invoice-mirror.ts';
import type { SubscriptionContext } from '../subscription-creation.ts';
import { invoiceToPay, olderUnpaid, unpaidInvoice } from './invoice-to-pay.ts';
import {
  declineFailure,
  findLostPayment,
  type Payer,
  payInvoice,
  readToPay,
  requireOwnMethod,
} from './pay-invoice.ts';

export interface PaymentRequest {
  readonly subscriptionId: string;
  /** The processor's id. If absent, the default payment method. */
  readonly paymentMethodId?: string;
  /** Till's id. If absent, the request pays the invoice that decides the status, and resumes a paused subscription. */
  readonly invoiceId?: string;
}

export interface PaidSubscription {
  readonly subscription: Subscription;
  /** Till's ids of the unpaid invoices that are older than the newest one. Newest first. */
  readonly olderUnpaidInvoiceIds: readonly string[];
}

/** The row before the request, its customer, and the invoice that the request names. */
interface PreparedSubscriptionPayment extends Payer {
  readonly subscription: Subscription;
  readonly processorInvoiceId: string | null;
}

/** The outcome of the payment: the subscription after it, or the decline. */
interface PaymentEffect {
  readonly subscription: Subscription;
  readonly result: SubscriptionFacts | Declined;
  readonly olderUnpaidInvoiceIds: readonly string[];
}

/** The target of a request that resumes the subscription. Every other target is the id of an invoice. */
const resumption = 'resumption';

/** The latest invoice, the resumption, and the invoice of the resumption. */
const stepsMax = 3;

export type SubscriptionPayment = CheckedOperation<
  PaymentRequest,
  PreparedSubscriptionPayment,
  PaymentEffect,
  PaidSubscription
>;

/**
 * The steps of paying a subscription. The request records each invoice before it pays it, and the processor key
 * contains the invoice. So a resumed request pays the same invoice, and no attempt happens twice.
 */
export function subscriptionPayment(context: SubscriptionContext): SubscriptionPayment {
  const { database, store, mirror, customers, processor, turns, invoices } = context;
  const refresh = async ({ subscription: { id } }: Pick<PaidSubscription, 'subscription'>) => {
    const before = await store.read(database, id);
    const current = await readToPay(processor, before);
    await applyResponse(database, mirror, current.subscription, before);
    return {
      subscription: await store.read(database, id),
      olderUnpaidInvoiceIds: await recordOlder(invoices, current),
    };
  };
  return {
    name: 'subscriptions.pay',
    isChange: true,
    parentIdOf: ({ subscriptionId }) => subscriptionId,
    inTurn: (claim, work) => turns.runClaim(claim, work),
    prepare: async ({ subscriptionId, paymentMethodId, invoiceId }) => {
      const subscription = await store.read(database, subscriptionId);
      const customer = await customers.findAny(subscription.customerId);
      if (customer === undefined) throw new Error(`the customer of ${subscriptionId} has no row`);
      const invoice = invoiceId === undefined ? null : await invoices.find(invoiceId);
      if (invoice !== null && invoice?.processorSubscriptionId !== subscription.processorSubscriptionId)
        throw new Failure('not_found', 'No invoice of this subscription has this id. Check invoiceId.');
      return {
        subscription,
        paymentMethodId,
        processorCustomerId: customer.processorCustomerId,
        processorInvoiceId: invoice?.processorInvoiceId ?? null,
      };
    },
    call: (request, prepared, write) => pay(context, request, prepared, write),
    record: async (tx, _id, { subscription, result, olderUnpaidInvoiceIds }) => {
      if ('outcome' in result)
        return { result: { subscription, olderUnpaidInvoiceIds }, failure: declineFailure(result) };
      const applied = await applyInTransaction(tx, mirror, result, subscription);
      return {
        result: { subscription: await store.read(tx, subscription.id), olderUnpaidInvoiceIds },
        ...applied,
      };
    },
    refresh,
    find: (claim) => findPayment(context, claim),
    /** The first request may have died before it refreshed a row that had changed meanwhile. */
    replay: async (_id, claim) => refresh({ subscription: await store.read(database, parentOf(claim)) }),
  };
}

async function pay(
  context: SubscriptionContext,
  request: PaymentRequest,
  prepared: PreparedSubscriptionPayment,
  write: OperationWrite,
): Promise<PaymentEffect> {
  const { database, mirror, processor } = context;
  const { subscription, processorInvoiceId: named } = prepared;
  let current = await readToPay(processor, subscription);
  const earlier = await findLostPayment(processor, request, current, write);
  if (earlier === 'paid') return effectOf(context, subscription, current);
  if (earlier !== null) return { subscription, result: earlier, olderUnpaidInvoiceIds: [] };
  let target = write.target ?? firstTarget(current, named);
  for (let steps = 0; target !== null && steps < stepsMax; steps += 1) {
    if (target !== write.target) await write.choose(target);
    const declined =
      target === resumption
        ? await resume(processor, prepared, current, write)
        : await payInvoice(context, invoiceOf(current, target), prepared, write);
    if (declined !== null) return { subscription, result: declined, olderUnpaidInvoiceIds: [] };
    current = await readToPay(processor, subscription);
    target = named === null ? nextTarget(current, target) : null;
    if (target === null) return effectOf(context, subscription, current);
  }
  if (target !== null) return effectOf(context, subscription, current);
  await requireOwnMethod(processor, prepared);
  await applyResponse(database, mirror, current.subscription, subscription);
  throw nothingToPay(current, named);
}

/**
 * A paid invoice needs no further attempt, even if another request paid it. While the processor remembers the
 * processor key, only a repeated call shows whether the attempt was declined or never happened. After that, a failed
 * last attempt counts as the attempt of this request.
 */
async function findPayment(context: SubscriptionContext, claim: FoundClaim): Promise<PaymentEffect | null> {
  const { database, store, processor, clock } = context;
  const { target, attemptedAt } = claim;
  if (target === null) return null;
  const subscription = await store.read(database, parentOf(claim));
  const current = await readToPay(processor, subscription);
  const paid = () => (current.isPaused ? null : effectOf(context, subscription, current));
  if (target === resumption) return paid();
  const invoice = await processor.invoices.read(target);
  if (invoice?.status === 'paid') return paid();
  if (clock.now().getTime() - attemptedAt.getTime() < processorKeyLifeMs) return null;
  const lastAttempt = await processor.invoices.findLastAttempt(target);
  if (lastAttempt === 'processing') return paid();
  return lastAttempt && { subscription, result: lastAttempt, olderUnpaidInvoiceIds: [] };
}

/** Checks first that a charge is possible, because the resumption creates an invoice. */
async function resume(
  processor: Processor,
  prepared: PreparedSubscriptionPayment,
  current: SubscriptionToPay,
  { idempotencyKey }: OperationWrite,
): Promise<null> {
  if (!current.isPaused || openLatest(current) !== null) return null;
  const { subscription, processorCustomerId, paymentMethodId } = prepared;
  const { processorSubscriptionId } = subscription;
  await requireOwnMethod(processor, prepared);
  const period = isPeriodPaid(current) ? 'unchanged' : 'now';
  if (paymentMethodId === undefined && period === 'now')
    await requireChargeable(processor, current, processorCustomerId);
  const attempt = await processor.subscriptions.resume({
    processorSubscriptionId,
    period,
    idempotencyKey: `${idempotencyKey}-${resumption}`,
  });
  // The processor may refuse because another request or a retry has already resumed the subscription.
  if (attempt.outcome !== 'done' && (await readToPay(processor, subscription)).isPaused)
    throw notReached(attempt, 'subscription', 'paused');
  return null;
}

async function effectOf(
  { invoices }: SubscriptionContext,
  subscription: Subscription,
  current: SubscriptionToPay,
): Promise<PaymentEffect> {
  const olderUnpaidInvoiceIds = await recordOlder(invoices, current);
  return { subscription, result: current.subscription, olderUnpaidInvoiceIds };
}

/** Creates missing rows, so that the caller can name invoices whose webhooks have not arrived. */
async function recordOlder(invoices: InvoiceMirror, current: SubscriptionToPay): Promise<readonly string[]> {
  const facts = olderUnpaid(current).flatMap((invoice) => invoice.facts ?? []);
  return (await invoices.record(facts)).map(({ id }) => id);
}

function firstTarget(current: SubscriptionToPay, named: string | null): string | null {
  if (named !== null) return unpaidInvoice(current, named)?.processorInvoiceId ?? null;
  return invoiceToPay(current)?.processorInvoiceId ?? (current.isPaused ? resumption : null);
}

/** The invoice as the processor shows it. If it is not listed, the payment itself shows its state. */
function invoiceOf({ invoices }: SubscriptionToPay, processorInvoiceId: string) {
  const found = invoices.find((invoice) => invoice.processorInvoiceId === processorInvoiceId);
  return { processorInvoiceId, status: found?.status ?? null };
}

/** A subscription that is still paused must be resumed, and then the invoice of the resumption must be paid. */
function nextTarget(current: SubscriptionToPay, target: string): string | null {
  if (!current.isPaused) return null;
  const latest = openLatest(current);
  if (latest !== null) return latest === target ? null : latest;
  return target === resumption ? null : resumption;
}

function openLatest(current: SubscriptionToPay): string | null {
  const { processorLatestInvoiceId: latest } = current.subscription;
  const isOpen = latest !== null && invoiceOf(current, latest).status === 'open';
  return isOpen && latest !== current.changeInvoiceId ? latest : null;
}

/** Whether the current period is paid and has not ended, so that a resumption bills nothing. */
function isPeriodPaid(current: SubscriptionToPay): boolean {
  const { processorLatestInvoiceId: latest, items, asOf } = current.subscription;
  if (latest === null || items[0].currentPeriodEnd <= asOf.latest) return false;
  return invoiceOf(current, latest).status === 'paid';
}

function nothingToPay(current: SubscriptionToPay, named: string | null): Failure {
  const { status } = current.subscription;
  const older = olderUnpaid(current).length;
  const detail =
    named !== null
      ? `The invoice is ${invoiceOf(current, named).status ?? 'gone'}. Only an open invoice or a draft can be paid.`
      : `The subscription is ${status}, and no payment is due for its latest invoice.`;
  const others = ' Older invoices are not paid: send invoiceId to pay one of them.';
  return new Failure('nothing_to_pay', named === null && older > 0 ? detail + others : detail, {
    effect: 'none',
  });
}

/**
 * Fails if no payment method can pay the invoice of a resumption: the subscription would stay paused, with an open
 * invoice. A resumption that bills nothing needs no payment method.
 */
async function requireChargeable(
  processor: Processor,
  current: SubscriptionToPay,
  processorCustomerId: string,
): Promise<void> {
  if (await hasUsableMethod(processor, current, processorCustomerId)) return;
  const { processorSubscriptionId } = current.subscription;
  const attempt = await processor.subscriptionChanges.preview({ processorSubscriptionId, resumes: true });
  const billsNothing = attempt.outcome === 'done' && (attempt.value?.amountDue ?? 0) === 0;
  if (!billsNothing) throw noPaymentMethod();
}

/** The processor charges the default of the subscription, or else that of the customer. */
async function hasUsableMethod(
  { paymentMethods }: Processor,
  { paymentMethodId }: SubscriptionToPay,
  processorCustomerId: string,
): Promise<boolean> {
  const id = paymentMethodId ?? (await readDefault());
  if (id === null) return false;
  const method = await paymentMethods.read(id);
  // A detached payment method cannot be charged. Older kinds cannot be read here, so they count as usable.
  return method === null || method.processorCustomerId === processorCustomerId;

  async function readDefault(): Promise<string | null> {
    const read = await paymentMethods.readDefault(processorCustomerId);
    return read === 'unknown' ? null : read.paymentMethodId;
  }
}

function noPaymentMethod(): Failure {
  return new Failure(
    'processor_rejected',
    'The subscription and its customer have no payment method to charge. Save one, or name one in the request.',
    { effect: 'none' },
  );
}
