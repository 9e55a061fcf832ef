import { Failure } from '../../errors.ts';
import { processorKeyLifeMs } from '../../idempotency/claim.ts';
import {
  type CheckedOperation,
  type FoundClaim,
  type OperationWrite,
  parentOf,
  type Recorded,
  type WriteTurn,
} from '../../idempotency/operation.ts';
import type { InvoiceMirror } from '../../invoices/invoice-mirror.ts';
import { applyInTransaction, applyResponse } from '../../mirrors/refresh.ts';
import { foundSubscription, type Subscription, type SubscriptionFacts } from '../../model/subscription.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Queryable, Transaction } from '../../platform/postgres.ts';
import { notReached, objectMissing } from '../../processor/port/attempt.ts';
import type { Declined, SubscriptionToPay } from '../../processor/port/invoice-payment.ts';
import { requireChargeable } from '../require-chargeable.ts';
import type { SubscriptionParts } from '../subscription-creation.ts';
import { invoiceToPay, olderUnpaid, unpaidInvoice } from './invoice-to-pay.ts';
import { declineFailure, findLostPayment, type Payer, payInvoice, requireOwnMethod } from './pay-invoice.ts';

export interface PaymentRequest {
  readonly subscriptionId: string;
  /** The processor's id. The default one if absent. */
  readonly paymentMethodId?: string;
  /** Till's id. If absent: the invoice that decides the status, and what a paused subscription needs besides. */
  readonly invoiceId?: string;
}

export interface PaidSubscription {
  readonly subscription: Subscription;
  /** Till's ids of the invoices that are still to be paid, and older than the newest one, the newest first. */
  readonly olderUnpaidInvoiceIds: readonly string[];
}

/** The row before the request, its customer, and the invoice that the request names. */
interface Prepared extends Payer {
  readonly subscription: Subscription;
  readonly processorInvoiceId: string | null;
}

/** What became of the payment: the subscription after it, or why it was declined. */
interface Made {
  readonly subscription: Subscription;
  readonly result: SubscriptionFacts | Declined;
  readonly olderUnpaidInvoiceIds: readonly string[];
}

export interface PayParts
  extends Pick<SubscriptionParts, 'database' | 'store' | 'mirror' | 'customers' | 'processor' | 'turns'> {
  readonly invoices: InvoiceMirror;
  readonly clock: Clock;
}

/** The target of a request that resumes the subscription. Every other target is the id of an invoice. */
const resumption = 'resumption';

/** The latest invoice, the resumption, and the invoice of the resumption. */
const stepsMax = 3;

/**
 * The steps of paying a subscription. The request records each invoice before it attempts to pay it, and the processor key
 * contains the invoice. So a resumed request pays the same invoice, and no attempt is made twice.
 */
export class SubscriptionPayment
  implements CheckedOperation<PaymentRequest, Prepared, Made, PaidSubscription>
{
  readonly name = 'subscriptions.pay';
  readonly isChange = true;
  readonly #parts: PayParts;

  constructor(parts: PayParts) {
    this.#parts = parts;
  }

  parentIdOf({ subscriptionId }: PaymentRequest): string {
    return subscriptionId;
  }

  inTurn<T>(claim: FoundClaim, work: (turn: WriteTurn) => Promise<T>): Promise<T> {
    return this.#parts.turns.runClaim(claim, work);
  }

  async prepare({ subscriptionId, paymentMethodId, invoiceId }: PaymentRequest): Promise<Prepared> {
    const { database, customers, invoices } = this.#parts;
    const subscription = await this.#find(database, subscriptionId);
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
  }

  async call(request: PaymentRequest, prepared: Prepared, write: OperationWrite): Promise<Made> {
    const { subscription, processorInvoiceId: named } = prepared;
    let present = await this.#read(subscription);
    const earlier = await findLostPayment(this.#parts.processor, request, present, write);
    if (earlier === 'paid') return this.#made(subscription, present);
    if (earlier !== null) return { subscription, result: earlier, olderUnpaidInvoiceIds: [] };
    let target = write.target ?? firstTarget(present, named);
    for (let steps = 0; target !== null && steps < stepsMax; steps += 1) {
      if (target !== write.target) await write.choose(target);
      const declined =
        target === resumption
          ? await this.#resume(prepared, present, write)
          : await payInvoice(this.#parts, invoiceOf(present, target), prepared, write);
      if (declined !== null) return { subscription, result: declined, olderUnpaidInvoiceIds: [] };
      present = await this.#read(subscription);
      target = named === null ? nextTarget(present, target) : null;
      if (target === null) return this.#made(subscription, present);
    }
    if (target !== null) return this.#made(subscription, present);
    await requireOwnMethod(this.#parts.processor, prepared);
    await applyResponse(this.#parts.database, this.#parts.mirror, present.subscription, subscription);
    throw nothingToPay(present, named);
  }

  async record(
    tx: Transaction,
    _id: string,
    { subscription, result, olderUnpaidInvoiceIds }: Made,
  ): Promise<Recorded<PaidSubscription>> {
    if ('outcome' in result)
      return { result: { subscription, olderUnpaidInvoiceIds }, failure: declineFailure(result) };
    const applied = await applyInTransaction(tx, this.#parts.mirror, result, subscription);
    return {
      result: { subscription: await this.#find(tx, subscription.id), olderUnpaidInvoiceIds },
      ...applied,
    };
  }

  async refresh({ subscription: { id } }: PaidSubscription): Promise<PaidSubscription> {
    const { mirror, database } = this.#parts;
    const before = await this.#find(database, id);
    const present = await this.#read(before);
    await applyResponse(database, mirror, present.subscription, before);
    return {
      subscription: await this.#find(database, id),
      olderUnpaidInvoiceIds: await this.#recordOlder(present),
    };
  }

  /**
   * An invoice that is paid needs no further try, even if another request paid it. While the processor remembers the
   * key, only a repeated call tells a decline from a try that was never made. After that, a last try that failed counts
   * as the one of this request.
   */
  async find(claim: FoundClaim): Promise<Made | null> {
    const { database, processor, clock } = this.#parts;
    const { target, attemptedAt } = claim;
    if (target === null) return null;
    const subscription = await this.#find(database, parentOf(claim));
    const present = await this.#read(subscription);
    const paid = () => (present.isPaused ? null : this.#made(subscription, present));
    if (target === resumption) return paid();
    const invoice = await processor.invoices.read(target);
    if (invoice?.status === 'paid') return paid();
    if (clock.now().getTime() - attemptedAt.getTime() < processorKeyLifeMs) return null;
    const lastTry = await processor.invoices.findLastTry(target);
    if (lastTry === 'processing') return paid();
    return lastTry && { subscription, result: lastTry, olderUnpaidInvoiceIds: [] };
  }

  /** The first request may have died before it could refresh a row that had changed meanwhile. */
  async replay(_id: string, claim: FoundClaim): Promise<PaidSubscription> {
    const subscription = await this.#find(this.#parts.database, parentOf(claim));
    return this.refresh({ subscription, olderUnpaidInvoiceIds: [] });
  }

  /** Refuses first what cannot be charged: the resumption makes an invoice. */
  async #resume(
    prepared: Prepared,
    present: SubscriptionToPay,
    { idempotencyKey }: OperationWrite,
  ): Promise<null> {
    const { processor } = this.#parts;
    if (!present.isPaused || openLatest(present) !== null) return null;
    const { subscription, processorCustomerId, paymentMethodId } = prepared;
    const { processorSubscriptionId } = subscription;
    await requireOwnMethod(processor, prepared);
    const period = isPeriodPaid(present) ? 'unchanged' : 'now';
    if (paymentMethodId === undefined && period === 'now')
      await requireChargeable(processor, present, processorCustomerId);
    const attempt = await processor.subscriptions.resume({
      processorSubscriptionId,
      period,
      idempotencyKey: `${idempotencyKey}-${resumption}`,
    });
    // The processor may refuse because another request or a retry has resumed it.
    if (attempt.outcome !== 'done' && (await this.#read(subscription)).isPaused)
      throw notReached(attempt, 'subscription', 'paused');
    return null;
  }

  async #made(subscription: Subscription, present: SubscriptionToPay): Promise<Made> {
    const olderUnpaidInvoiceIds = await this.#recordOlder(present);
    return { subscription, result: present.subscription, olderUnpaidInvoiceIds };
  }

  /** The invoices may have no rows yet, if their webhooks have not arrived. The caller can name them all the same. */
  async #recordOlder(present: SubscriptionToPay): Promise<readonly string[]> {
    const facts = olderUnpaid(present).flatMap((invoice) => invoice.facts ?? []);
    return (await this.#parts.invoices.record(facts)).map(({ id }) => id);
  }

  async #find(db: Queryable, id: string): Promise<Subscription> {
    return foundSubscription((await this.#parts.store.find(db, [id]))[0]);
  }

  async #read({ processorSubscriptionId }: Subscription): Promise<SubscriptionToPay> {
    const present = await this.#parts.processor.subscriptions.readToPay(processorSubscriptionId);
    if (present === null) throw objectMissing('subscription');
    return present;
  }
}

function firstTarget(present: SubscriptionToPay, named: string | null): string | null {
  if (named !== null) return unpaidInvoice(present, named)?.processorInvoiceId ?? null;
  return invoiceToPay(present)?.processorInvoiceId ?? (present.isPaused ? resumption : null);
}

/** What the processor shows of the invoice. If that is nothing, the payment tells. */
function invoiceOf({ invoices }: SubscriptionToPay, processorInvoiceId: string) {
  const found = invoices.find((invoice) => invoice.processorInvoiceId === processorInvoiceId);
  return { processorInvoiceId, status: found?.status ?? null };
}

/** A subscription that is still paused needs its resumption, and then the payment of the invoice of that. */
function nextTarget(present: SubscriptionToPay, target: string): string | null {
  if (!present.isPaused) return null;
  const latest = openLatest(present);
  if (latest !== null) return latest === target ? null : latest;
  return target === resumption ? null : resumption;
}

function openLatest(present: SubscriptionToPay): string | null {
  const { processorLatestInvoiceId: latest } = present.subscription;
  const isOpen = latest !== null && invoiceOf(present, latest).status === 'open';
  return isOpen && latest !== present.changeInvoiceId ? latest : null;
}

/** Whether the current period is paid and goes on, so that nothing must be billed for it. */
function isPeriodPaid(present: SubscriptionToPay): boolean {
  const { processorLatestInvoiceId: latest, items, asOf } = present.subscription;
  if (latest === null || items[0].currentPeriodEnd <= asOf.latest) return false;
  return invoiceOf(present, latest).status === 'paid';
}

function nothingToPay(present: SubscriptionToPay, named: string | null): Failure {
  const { status } = present.subscription;
  const older = olderUnpaid(present).length;
  const detail =
    named !== null
      ? `The invoice is ${invoiceOf(present, named).status ?? 'gone'}. Only an open invoice or a draft can be paid.`
      : `The subscription is ${status}, and no payment is due for its latest invoice.`;
  const others = ' Older invoices are not paid: send invoiceId to pay one of them.';
  return new Failure('nothing_to_pay', named === null && older > 0 ? detail + others : detail, {
    effect: 'none',
  });
}
