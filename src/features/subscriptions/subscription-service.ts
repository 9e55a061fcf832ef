import { randomUUID } from 'node:crypto';
import { requireFound } from '#core/errors.ts';
import type { Customer } from '#core/model/customer.ts';
import type { Revisions } from '#core/model/facts.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import { isGrouped } from '#core/model/plan.ts';
import { hasEnded, type Subscription, type SubscriptionFacts } from '#core/model/subscription.ts';
import { inLanes } from '#core/platform/lanes.ts';
import { PacedCalls } from '#core/platform/paced-calls.ts';
import { SharedReads } from '#core/platform/shared-statement.ts';
import type { OperationResult } from '#engine/idempotency/operation.ts';
import { applyChange, applyResponse, correct } from '#engine/mirrors/refresh.ts';
import { notReached } from '#processor/port/attempt.ts';
import type { SubscriptionToPay } from '#processor/port/invoice-payment.ts';
import { type PreviewedChange, previewChange } from './changes/preview-change.ts';
import type { SubscriptionPatch, TermsChange } from './changes/subscription-patch.ts';
import {
  type ChangedSubscription,
  isWaiting,
  type SubscriptionUpdate,
  subscriptionUpdate,
} from './changes/subscription-update.ts';
import { invoiceToPay } from './paying/invoice-to-pay.ts';
import { readToPay } from './paying/pay-invoice.ts';
import {
  type PaidSubscription,
  type PaymentRequest,
  type SubscriptionPayment,
  subscriptionPayment,
} from './paying/subscription-payment.ts';
import { alreadySubscribed, correctReserved, type Joined, listLiveOfGroup } from './reserve-group.ts';
import {
  type CreatedSubscription,
  type NewSubscriptionRequest,
  reservingSubscriptionCreation,
  type SubscriptionContext,
  type SubscriptionCreation,
  subscriptionCreation,
  wantsOneTrial,
} from './subscription-creation.ts';

/**
 * Concurrent reads of a customer's subscriptions: enough to finish in seconds, few enough to leave room for requests.
 */
const concurrentReadsMax = 5;

export class SubscriptionService {
  /** The sweeper also uses these three. */
  readonly creation: SubscriptionCreation;
  readonly updating: SubscriptionUpdate;
  readonly paying: SubscriptionPayment;
  readonly #context: SubscriptionContext;
  readonly #reads: SharedReads<Subscription>;
  readonly #asked = new PacedCalls((customerId) => this.#askForAll(customerId));

  constructor(context: SubscriptionContext) {
    this.#context = context;
    this.creation = subscriptionCreation(context);
    this.updating = subscriptionUpdate(context);
    this.paying = subscriptionPayment(context);
    this.#reads = new SharedReads((ids) => context.store.find(context.database, ids));
  }

  async create(
    request: NewSubscriptionRequest,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<CreatedSubscription>> {
    const { idempotency, plans } = this.#context;
    const plan = await plans.find(request.planId);
    const reserves = isGrouped(plan) || wantsOneTrial(request);
    const creation = reserves ? reservingSubscriptionCreation(this.#context) : this.creation;
    return idempotency.run(creation, request, key);
  }

  async update(
    id: string,
    change: SubscriptionPatch,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<ChangedSubscription>> {
    const request = { subscriptionId: id, change };
    const { result, replayed } = await this.#context.idempotency.run(this.updating, request, key);
    const { subscription, clientSecret } = result;
    return {
      result: { subscription, clientSecret: isWaiting(change, subscription) ? clientSecret : null },
      replayed,
    };
  }

  /** Previews the cost of a change. Changes nothing. */
  async preview(id: string, change: TermsChange): Promise<PreviewedChange> {
    return previewChange(this.#context, await this.read(id), change);
  }

  /** Pays the invoice in the request, or else the invoice that decides the status. */
  async pay(
    id: string,
    payment: Omit<PaymentRequest, 'subscriptionId'>,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<PaidSubscription>> {
    return this.#context.idempotency.run(this.paying, { subscriptionId: id, ...payment }, key);
  }

  /** Reads the client secret, which is never stored. Null if there is nothing to confirm. */
  async readClientSecret(id: string): Promise<string | null> {
    const { processor } = this.#context;
    const first = await this.#readToPay(id);
    const isDraft = invoiceToPay(first)?.status === 'draft';
    if (isDraft) await this.#finalizeInvoiceToPay(id);
    const current = isDraft ? await this.#readToPay(id) : first;
    for (const invoiceId of [invoiceToPay(current)?.processorInvoiceId, current.changeInvoiceId]) {
      const secret = invoiceId == null ? null : await processor.invoices.readClientSecret(invoiceId);
      if (secret !== null) return secret;
    }
    return current.setupClientSecret;
  }

  /** Finalizes the invoice that `pay` would pay, so that the customer can pay it too. */
  #finalizeInvoiceToPay(id: string): Promise<void> {
    const { turns, processor } = this.#context;
    return turns.run({ subscriptionId: id, claimId: null, goesFirst: false }, async () => {
      const invoice = invoiceToPay(await this.#readToPay(id));
      if (invoice?.status === 'draft')
        await processor.invoices.finalize({
          processorInvoiceId: invoice.processorInvoiceId,
          idempotencyKey: randomUUID(),
        });
    });
  }

  /** Reads what is left to pay from the processor, and updates the row. */
  async #readToPay(id: string): Promise<SubscriptionToPay> {
    const { database, mirror, processor } = this.#context;
    const subscription = await this.read(id);
    const current = await readToPay(processor, subscription);
    await applyResponse(database, mirror, current.subscription, subscription);
    return current;
  }

  async read(id: string): Promise<Subscription> {
    return requireFound('subscription', await this.#reads.read(id));
  }

  list(request: ListRequest): Promise<ListPage<Subscription>> {
    const { database, store } = this.#context;
    return database.read((db) => store.list(db, request));
  }

  /** Cancels immediately. A subscription that has ended needs no call to the processor, and keeps its reason. */
  async cancel(id: string, reason?: string): Promise<Subscription> {
    const subscription = await this.read(id);
    if (hasEnded(subscription.status)) return subscription;
    const write = { subscriptionId: subscription.id, claimId: null, goesFirst: true };
    return this.#context.turns.run(write, () => this.#cancel(subscription.id, reason));
  }

  async #cancel(id: string, reason: string | undefined): Promise<Subscription> {
    const { database, logger, mirror, processor } = this.#context;
    const subscription = await this.read(id);
    const { processorSubscriptionId, pendingChange, status } = subscription;
    const attempt = await processor.subscriptions.cancel(processorSubscriptionId, reason);
    if (attempt.outcome === 'done') await applyChange(database, mirror, attempt.value, subscription);
    // The processor may refuse because the subscription has ended and the event has not arrived yet.
    else await correct(mirror, processorSubscriptionId);
    const corrected = await this.read(id);
    if (!hasEnded(corrected.status)) throw notReached(attempt, 'subscription', corrected.status);
    // The processor has voided the first invoice, or that of a change, which waited for its payment. If restoring the
    // customer's items fails, the event about that invoice restores them.
    if (status === 'incomplete' || pendingChange?.at === null)
      await processor.subscriptionChanges.restoreUnbilled(corrected).catch((error: unknown) => {
        logger.warn({ err: error, subscriptionId: id }, 'items of a canceled subscription not restored yet');
      });
    return corrected;
  }

  /**
   * Ends the incomplete subscriptions of the customer to plans of the group that this plan is in. Fails if one of them
   * was paid meanwhile. The processor would cancel a paid subscription too, but it does not void a paid invoice.
   */
  async endIncomplete(joining: Joined): Promise<void> {
    const { database, mirror, processor } = this.#context;
    const live = await database.transaction((tx) => listLiveOfGroup(tx, this.#context, joining));
    // A subscription that was incomplete when the group was reserved may be paid by now.
    const paid = live.find(({ status }) => status !== 'incomplete');
    if (paid !== undefined) throw alreadySubscribed(paid.id);
    for (const { id, processorSubscriptionId } of live) {
      const { invoices } = await this.#readToPay(id);
      const { status } = await this.read(id);
      if (status !== 'incomplete' && !hasEnded(status)) throw alreadySubscribed(id);
      for (const { processorInvoiceId, ...invoice } of invoices) {
        if (invoice.isOneOff || invoice.status === 'void') continue;
        const idempotencyKey = randomUUID();
        if ((await processor.invoices.void({ processorInvoiceId, idempotencyKey })) === 'void') continue;
        await correct(mirror, processorSubscriptionId);
        throw alreadySubscribed(id);
      }
      await this.cancel(id);
    }
  }

  /** Corrects the row of the subscription for which this claim reserved a group. Does nothing if there is none. */
  correctReserved(claimId: string): Promise<void> {
    return correctReserved(this.#context, claimId);
  }

  /**
   * Runs a write to a subscription in its turn, and applies its response. If it has none, the row is refreshed. A
   * subscription without a row has no other writers in Till, and needs no turn.
   */
  async inTurn(
    processorSubscriptionId: string,
    write: () => Promise<SubscriptionFacts | null>,
  ): Promise<void> {
    const { database, mirror, store, turns } = this.#context;
    const [found] = await store.findByKeys(database, [processorSubscriptionId]);
    if (found === undefined) {
      await write();
      return;
    }
    await turns.run({ subscriptionId: found.id, claimId: null, goesFirst: false }, async () => {
      // The row may have changed while the write waited for its turn.
      const subscription = await this.read(found.id);
      const facts = await write();
      if (facts === null) await correct(mirror, processorSubscriptionId);
      else await applyResponse(database, mirror, facts, subscription);
    });
  }

  /**
   * Ends the plannings of the customer's subscriptions that have nothing left to do, because the processor's pages
   * cannot cancel a subscription that has one. Returns the processor's ids of the subscriptions that keep theirs.
   */
  async endSpentPlannings({ id, processorCustomerId }: Customer): Promise<readonly string[]> {
    const { customers, processor } = this.#context;
    const { subscriptionChanges } = processor;
    const open = await this.#readOpen(id);
    if (open.size === 0) return [];
    const plannings = await subscriptionChanges
      .listPlannings(processorCustomerId)
      .catch(async (error: unknown) => {
        throw await customers.explainRefusal(error, id);
      });
    const kept: string[] = [];
    for (const { processorSubscriptionId, isSpent } of plannings) {
      const order = { processorSubscriptionId, idempotencyKey: randomUUID() };
      // Till does not change a subscription without a row.
      if (isSpent && open.has(processorSubscriptionId))
        await this.inTurn(processorSubscriptionId, () => subscriptionChanges.endSpentPlanning(order));
      else kept.push(processorSubscriptionId);
    }
    return kept;
  }

  /** Refreshes the rows of these subscriptions that do not show this payment method. */
  async correctMethods(processorSubscriptionIds: readonly string[], paymentMethodId: string): Promise<void> {
    const { database, store, mirror } = this.#context;
    const rows = await store.findByKeys(database, processorSubscriptionIds);
    const outdated = rows.filter(({ defaultPaymentMethodId }) => defaultPaymentMethodId !== paymentMethodId);
    await this.#correctAll(outdated.map(mirror.keyOf));
  }

  /** Refreshes all open subscriptions of a customer. */
  async correctOfCustomer(customerId: string): Promise<void> {
    await this.#correctAll((await this.#readOpen(customerId)).keys());
  }

  /**
   * Asks the processor for the subscriptions of a customer, and updates the rows. Concurrent callers share the
   * response.
   */
  async askForAll(customerId: string): Promise<void> {
    await this.#asked.ask(customerId);
  }

  /** The processor does not list canceled subscriptions, so open rows that it does not list are refreshed. */
  async #askForAll(customerId: string): Promise<void> {
    const { customers, database, mirror, processor } = this.#context;
    const { processorCustomerId } = await customers.read(customerId);
    const open = await this.#readOpen(customerId);
    const toCorrect = new Set(open.keys());
    try {
      for await (const { items } of processor.subscriptions.list({ processorCustomerId, isOpen: true })) {
        for (const facts of items) toCorrect.delete(mirror.keyOf(facts));
        const { unsettled } = await database.transaction((tx) => mirror.apply(tx, items, open));
        for (const key of unsettled) toCorrect.add(key);
      }
    } catch (error) {
      throw await customers.explainRefusal(error, customerId);
    }
    await this.#correctAll(toCorrect);
  }

  /** The revisions of the open rows of a customer, by the keys of the subscriptions. */
  async #readOpen(customerId: string): Promise<Revisions> {
    const { database, store, mirror } = this.#context;
    const open = await store.listOpenOfCustomer(database, customerId);
    return new Map(open.map((row) => [mirror.keyOf(row), row.revision]));
  }

  #correctAll(keys: Iterable<string>): Promise<void> {
    return inLanes([...keys], concurrentReadsMax, (key) => correct(this.#context.mirror, key));
  }
}
