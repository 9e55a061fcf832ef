import { Failure } from '../errors.ts';
import { processorKeyLifeMs, type RecordedFailure } from '../idempotency/claim.ts';
import {
  type CheckedOperation,
  type FoundClaim,
  type OperationWrite,
  parentOf,
  type Recorded,
  type WriteTurn,
} from '../idempotency/operation.ts';
import type { InvoiceFacts } from '../invoices/invoice.ts';
import type { InvoiceMirror } from '../invoices/invoice-mirror.ts';
import { applyInTransaction, applyResponse, correct } from '../mirrors/refresh.ts';
import { explainMethodRefusal, requireMethodOf } from '../payment-methods/explain-method-refusal.ts';
import type { Clock } from '../platform/clock.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import type { Declined, SubscriptionToPay } from '../processor/invoice-payment.ts';
import { notReached, objectMissing } from '../processor/refused-write.ts';
import { requireChargeable } from './require-chargeable.ts';
import { foundSubscription, type Subscription, type SubscriptionFacts } from './subscription.ts';
import type { SubscriptionParts } from './subscription-creation.ts';

export interface PaymentRequest {
  readonly subscriptionId: string;
  /** The processor's id. The default one if absent. */
  readonly paymentMethodId?: string;
}

/** The row before the request, and its customer. */
interface Prepared {
  readonly subscription: Subscription;
  readonly processorCustomerId: string;
}

/** What became of the payment: the subscription after it, or why it was declined. */
interface Made {
  readonly subscription: Subscription;
  readonly result: SubscriptionFacts | Declined;
}

export interface PayParts
  extends Pick<SubscriptionParts, 'database' | 'store' | 'mirror' | 'customers' | 'processor' | 'turns'> {
  readonly invoices: InvoiceMirror;
  readonly clock: Clock;
}

/** The target of a request that resumes the subscription. Every other target is the id of an invoice. */
const resumption = 'resumption';

/** The open invoice, the resumption, and the invoice of the resumption. */
const stepsMax = 3;

const authenticate =
  'The customer must authenticate this payment. Get the client secret and confirm with it in the frontend.';

/**
 * The steps of paying a subscription. The request remembers each invoice before it tries to pay it, and the processor's key
 * contains the invoice. So a request that is resumed pays the same invoice, and a try that was made is not made again.
 */
export class SubscriptionPayment implements CheckedOperation<PaymentRequest, Prepared, Made, Subscription> {
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

  async prepare({ subscriptionId }: PaymentRequest): Promise<Prepared> {
    const subscription = await this.#find(this.#parts.database, subscriptionId);
    const customer = await this.#parts.customers.findAny(subscription.customerId);
    if (customer === undefined) throw new Error(`the customer of ${subscriptionId} has no row`);
    return { subscription, processorCustomerId: customer.processorCustomerId };
  }

  async call(request: PaymentRequest, prepared: Prepared, write: OperationWrite): Promise<Made> {
    const { subscription } = prepared;
    let present = await this.#read(subscription);
    let target = write.target ?? firstTarget(present);
    for (let steps = 0; target !== null && steps < stepsMax; steps += 1) {
      if (target !== write.target) await write.choose(target);
      const declined =
        target === resumption
          ? await this.#resume(request, prepared, present, write)
          : await this.#pay(request, prepared, target, write);
      if (declined !== null) return { subscription, result: declined };
      present = await this.#read(subscription);
      target = nextTarget(present, target);
      if (target === null) return { subscription, result: present.subscription };
    }
    if (target !== null) return { subscription, result: present.subscription };
    await this.#requireOwnMethod(request, prepared);
    await applyResponse(this.#parts.database, this.#parts.mirror, present.subscription, subscription);
    throw nothingToPay(present.subscription);
  }

  async record(
    tx: Transaction,
    _id: string,
    { subscription, result }: Made,
  ): Promise<Recorded<Subscription>> {
    if ('outcome' in result) return { result: subscription, failure: failureOf(result) };
    const applied = await applyInTransaction(tx, this.#parts.mirror, result, subscription);
    return { result: await this.#find(tx, subscription.id), ...applied };
  }

  async refresh({ id, processorSubscriptionId }: Subscription): Promise<Subscription> {
    const { mirror, database } = this.#parts;
    await correct(mirror, processorSubscriptionId);
    return this.#find(database, id);
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
    const paid = present.isPaused ? null : { subscription, result: present.subscription };
    if (target === resumption) return paid;
    const invoice = await processor.invoices.read(target);
    if (invoice?.status === 'paid') return paid;
    if (clock.now().getTime() - attemptedAt.getTime() < processorKeyLifeMs) return null;
    const lastTry = await processor.invoices.findLastTry(target);
    return lastTry === 'processing' ? paid : lastTry && { subscription, result: lastTry };
  }

  /** The first request may have died before it could refresh a row that had changed meanwhile. */
  async replay(_id: string, claim: FoundClaim): Promise<Subscription> {
    return this.refresh(await this.#find(this.#parts.database, parentOf(claim)));
  }

  /** Null once the invoice is paid, or its payment is under way. */
  async #pay(
    { paymentMethodId }: PaymentRequest,
    { processorCustomerId }: Prepared,
    processorInvoiceId: string,
    write: OperationWrite,
  ): Promise<Declined | null> {
    const { processor } = this.#parts;
    const { invoices, paymentMethods } = processor;
    const idempotencyKey = `${write.idempotencyKey}-${processorInvoiceId}`;
    const method = paymentMethodId === undefined ? {} : { paymentMethodId };
    try {
      const attempt = await invoices.pay({ processorInvoiceId, ...method, idempotencyKey });
      if (attempt.outcome === 'declined') return attempt;
      if (attempt.isPaid) {
        if (!write.isRepeated) await this.#applyPaid(attempt.invoice);
        return null;
      }
      const lastTry = await invoices.findLastTry(processorInvoiceId);
      if (lastTry === null) throw notPaid();
      return lastTry === 'processing' ? null : lastTry;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { replayed = false } = error.extras;
      if (!replayed && error.code !== 'processor_rejected') throw error;
      const invoice = await invoices.read(processorInvoiceId);
      if (invoice?.status === 'paid') {
        await this.#applyPaid(invoice);
        return null;
      }
      const lastTry = replayed ? await invoices.findLastTry(processorInvoiceId) : null;
      if (lastTry !== null) return lastTry === 'processing' ? null : lastTry;
      throw await explainMethodRefusal(paymentMethods, error, { id: paymentMethodId, processorCustomerId });
    }
  }

  /** Refuses first what cannot be charged: the resumption makes an invoice. */
  async #resume(
    request: PaymentRequest,
    prepared: Prepared,
    present: SubscriptionToPay,
    { idempotencyKey }: OperationWrite,
  ): Promise<null> {
    const { processor } = this.#parts;
    if (!present.isPaused || openLatest(present) !== null) return null;
    const { subscription, processorCustomerId } = prepared;
    const { processorSubscriptionId } = subscription;
    await this.#requireOwnMethod(request, prepared);
    const period = (await this.#isPeriodPaid(present)) ? 'unchanged' : 'now';
    if (request.paymentMethodId === undefined && period === 'now')
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

  async #requireOwnMethod(
    { paymentMethodId }: PaymentRequest,
    { processorCustomerId }: Prepared,
  ): Promise<void> {
    const { paymentMethods } = this.#parts.processor;
    if (paymentMethodId !== undefined)
      await requireMethodOf(paymentMethods, paymentMethodId, processorCustomerId);
  }

  /** Whether the current period is paid and goes on, so that nothing must be billed for it. */
  async #isPeriodPaid({ subscription }: SubscriptionToPay): Promise<boolean> {
    const { processorLatestInvoiceId: latest, items, asOf } = subscription;
    if (latest === null || items[0].currentPeriodEnd <= asOf.latest) return false;
    return (await this.#parts.processor.invoices.read(latest))?.status === 'paid';
  }

  /** In its own transaction, because the locks of the claim and of the subscription come first in others. */
  async #applyPaid(facts: InvoiceFacts | null): Promise<void> {
    const { database, invoices } = this.#parts;
    // A response that lacks the links would make an invoice without them. Its webhook has them.
    if (facts?.processorCustomerId == null || facts.processorSubscriptionId === null) return;
    await database.transaction((tx) => invoices.apply(tx, [facts], 'events'));
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

function firstTarget({ isPaused, openInvoiceIds }: SubscriptionToPay): string | null {
  return openInvoiceIds[0] ?? (isPaused ? resumption : null);
}

/** A subscription that is still paused needs its resumption, and then the payment of the invoice of that. */
function nextTarget(present: SubscriptionToPay, target: string): string | null {
  if (!present.isPaused) return null;
  const latest = openLatest(present);
  if (latest !== null) return latest === target ? null : latest;
  return target === resumption ? null : resumption;
}

function openLatest({ subscription, openInvoiceIds }: SubscriptionToPay): string | null {
  const { processorLatestInvoiceId: latest } = subscription;
  return latest !== null && openInvoiceIds.includes(latest) ? latest : null;
}

function failureOf({ mustAuthenticate, declineCode, message }: Declined): RecordedFailure {
  return mustAuthenticate
    ? { code: 'authentication_required', detail: authenticate, declineCode }
    : { code: 'payment_declined', detail: message || 'The payment was declined.', declineCode };
}

/** The processor accepted the request, and did not try to pay. */
function notPaid(): Failure {
  return new Failure(
    'processor_bad_answer',
    'The processor accepted the request, but the invoice is open. Retry later.',
    { effect: 'unknown' },
  );
}

function nothingToPay({ status }: SubscriptionFacts): Failure {
  return new Failure('nothing_to_pay', `The subscription is ${status}, and no invoice of it is open.`, {
    effect: 'none',
  });
}
