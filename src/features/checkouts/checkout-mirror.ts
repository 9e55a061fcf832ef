import { randomUUID } from 'node:crypto';
import {
  type Checkout,
  type CheckoutFacts,
  type CheckoutNotice,
  resultsOf,
  takeCheckoutFacts,
  valuesOfCheckout,
} from '#core/model/checkout.ts';
import { type Applied, rowTime, type Source, type Take } from '#core/model/facts.ts';
import type { OwnedChange } from '#core/model/metadata.ts';
import type { Plan } from '#core/model/plan.ts';
import { by } from '#core/model/subscription-items.ts';
import { auditChange } from '#core/platform/cause.ts';
import { derivedId, idTime, isOurId } from '#core/platform/id.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { applyToRows, type Inserted, lockRows } from '#engine/mirrors/apply-facts.ts';
import type { Mirror, MirrorContext } from '#engine/mirrors/mirror.ts';
import {
  correct,
  ignoredAll,
  noRevisions,
  nothingApplied,
  revisionsOf,
  unknownToProcessor,
  untilSettled,
} from '#engine/mirrors/refresh.ts';
import { objectMissing } from '#processor/port/attempt.ts';
import type { CustomerMirror } from '../customers/customer-mirror.ts';
import type { LostCustomers } from '../customers/lost-customers.ts';
import type { InvoiceMirror } from '../invoices/invoice-mirror.ts';
import type { PaymentMirror } from '../payments/payment-mirror.ts';
import type { PlanMirror } from '../plans/plan-mirror.ts';
import { type Grouping, holdGroup } from '../subscriptions/reserve-group.ts';
import type { SubscriptionMirror } from '../subscriptions/subscription-mirror.ts';
import { checkoutView } from './checkout-fields.ts';
import type { CheckoutStore, OpenCheckout, OwnedCheckout } from './checkout-store.ts';

/** How many open checkouts without their group are read at a time. */
const withoutGroupMax = 100;

interface CheckoutMirrorParts extends MirrorContext {
  readonly store: CheckoutStore;
  readonly customers: CustomerMirror;
  readonly lostCustomers: LostCustomers;
  readonly plans: PlanMirror;
  readonly subscriptions: SubscriptionMirror;
  readonly invoices: InvoiceMirror;
  readonly payments: PaymentMirror;
  readonly grouping: Omit<Grouping, 'lostCommits'>;
}

const nothingInserted: Inserted<Checkout> = { created: [], lost: [] };

/**
 * The checkouts. An event or a list shows only that a checkout has changed, and its row follows from a read. Before a
 * row is completed, its results are recorded, so that a completed checkout never names an object that has no row.
 */
export class CheckoutMirror implements Mirror<CheckoutNotice> {
  readonly resource = 'checkout';
  readonly #parts: CheckoutMirrorParts;

  constructor(parts: CheckoutMirrorParts) {
    this.#parts = parts;
  }

  keyOf({ processorCheckoutSessionId }: Pick<CheckoutNotice, 'processorCheckoutSessionId'>): string {
    return processorCheckoutSessionId;
  }

  async apply(tx: Transaction, notices: readonly CheckoutNotice[]): Promise<Applied> {
    const keys = [...new Set(notices.map(this.keyOf))];
    const rows = new Map((await this.#parts.store.findByKeys(tx, keys)).map((row) => [this.keyOf(row), row]));
    const isOurs = (notice: CheckoutNotice) => rows.has(this.keyOf(notice)) || isOurId(notice.localId);
    const isSettled = (notice: CheckoutNotice) =>
      notice.status !== undefined && rows.get(this.keyOf(notice))?.status === notice.status;
    const ours = new Set(notices.filter(isOurs).map(this.keyOf));
    return {
      ...nothingApplied,
      ignored: keys.filter((key) => !ours.has(key)),
      unsettled: [...new Set(notices.filter((one) => isOurs(one) && !isSettled(one)).map(this.keyOf))],
    };
  }

  async refresh(key: string): Promise<Applied> {
    return (await this.#read(key)).applied;
  }

  /** Refreshes the row, and returns the URL of the page. Fails if the processor does not know the checkout. */
  async readUrl(key: string): Promise<string | null> {
    let url: string | null = null;
    await untilSettled(async () => {
      const read = await this.#read(key);
      if (read.applied.isUnknown === true) throw objectMissing('checkout');
      ({ url } = read);
      return read.applied;
    });
    return url;
  }

  /** The keys of open checkouts that should have changed by now. */
  listStale(limit: number): Promise<readonly string[]> {
    return this.#parts.store.listStale(this.#parts.database, limit);
  }

  /** The keys of open checkouts without their group. A refresh gives them the group, or expires them. */
  async *listWithoutGroup(): AsyncIterable<string> {
    const { store, database } = this.#parts;
    let last: OpenCheckout | undefined;
    do {
      const found = await store.listWithoutGroup(database, last ?? null, withoutGroupMax);
      for (const { key } of found) yield key;
      last = found.length < withoutGroupMax ? undefined : found.at(-1);
    } while (last !== undefined);
  }

  async markChecked(key: string): Promise<void> {
    await this.#parts.store.markChecked(this.#parts.database, key);
  }

  /** Call it in the transaction in which payments of these checkouts succeed. */
  markPaid(tx: Transaction, ids: readonly string[]): Promise<void> {
    return this.#parts.store.markPaid(tx, ids, this.#parts.clock.now());
  }

  /** Records the results of a completed checkout. Call it before `record`, with no transaction open. */
  async recordResults(facts: CheckoutFacts): Promise<void> {
    const { subscriptions, invoices, payments } = this.#parts;
    const { status, mode, processorSubscriptionId, processorInvoiceId, processorPaymentIntentId } = facts;
    if (status !== 'completed') return;
    if (mode === 'subscription' && processorSubscriptionId !== null)
      await correct(subscriptions, processorSubscriptionId);
    if (mode === 'subscription' && processorInvoiceId !== null) await correct(invoices, processorInvoiceId);
    if (mode === 'payment' && processorPaymentIntentId !== null)
      await correct(payments, processorPaymentIntentId);
  }

  /** Applies the facts of a read, or creates the row. */
  async record(tx: Transaction, facts: CheckoutFacts, source: Source): Promise<Applied> {
    const { store, customers, clock } = this.#parts;
    const { keyOf } = this;
    const now = clock.now();
    const rows = await lockRows<Checkout, CheckoutFacts>(tx, store, [facts], keyOf);
    const inserted = rows.unknown.length === 0 ? undefined : await this.#insert(tx, facts, now);
    const take: Take<Checkout, CheckoutFacts> = (row, next, origin, at) =>
      takeCheckoutFacts(row, next, resultIdOf(row.id), origin, at);
    const beforeWrite = (written: readonly OwnedChange[]) => customers.hold(tx, written);
    const folding = { rows, inserted, source, keyOf, take, view: checkoutView, now, beforeWrite };
    const { applied, written } = await applyToRows(tx, store, folding);
    const ended = written.filter(({ before, after }) => before.status === 'open' && after.status !== 'open');
    for (const { after } of ended) {
      if (after.status === 'expired') auditChange(tx, after.id);
      await this.#end(tx, after);
    }
    return applied;
  }

  async #read(key: string): Promise<{ readonly applied: Applied; readonly url: string | null }> {
    const { database, store, processor } = this.#parts;
    const row = await store.findOwned(database, key);
    // If the processor refuses, the next read shows the reason.
    if (row?.status === 'open' && !(await this.#mayStayOpen(row)))
      await processor.checkouts.expire({ processorCheckoutSessionId: key, idempotencyKey: randomUUID() });
    const read = await processor.checkouts.read(key);
    if (read === null)
      return { applied: row === undefined ? ignoredAll(key) : unknownToProcessor, url: null };
    const { checkout: facts, url } = read;
    if (row === undefined && !(await this.#recoverOwners(facts)))
      return { applied: ignoredAll(key), url: null };
    if (row?.status !== 'completed') await this.recordResults(facts);
    const source = row === undefined ? noRevisions : revisionsOf(key, row);
    return { applied: await database.transaction((tx) => this.record(tx, facts, source)), url };
  }

  /**
   * A buyer must not pay for a deleted customer, or for a second subscription of a group. An open checkout usually
   * holds its group. If its row was lost, another request may have reserved the group.
   */
  async #mayStayOpen(row: OwnedCheckout): Promise<boolean> {
    const { database, store, grouping } = this.#parts;
    const { planId, isOwnerDeleted, holdsGroup } = row;
    if (isOwnerDeleted) return false;
    if (holdsGroup || planId === null) return true;
    return database.transaction(async (tx) => {
      // If the row ends, so does its reservation.
      const [current] = await store.lockByKeys(tx, [this.keyOf(row)]);
      if (current?.status !== 'open') return true;
      const [plan] = await grouping.plans.findAll(tx, [planId]);
      return this.#hold(tx, current, plan);
    });
  }

  /** Reserves the group of its plan for an open checkout. False if it is taken. */
  async #hold(tx: Transaction, { id, customerId }: Checkout, plan: Plan | undefined): Promise<boolean> {
    const joining = { customerId, subscriptionId: resultIdOf(id), claimId: id };
    return plan === undefined || holdGroup(tx, this.#parts.grouping, plan, joining);
  }

  /**
   * Creates the row. An open checkout also reserves the group of its plan. If the group is taken, or the customer is
   * already deleted, the row needs a refresh, which expires the checkout. Otherwise a later deletion finds the row.
   */
  async #insert(tx: Transaction, facts: CheckoutFacts, now: Date): Promise<Inserted<Checkout>> {
    const { store, customers, plans } = this.#parts;
    const { localId: id, processorCustomerId } = facts;
    const prices = facts.items.map(({ processorPriceId }) => processorPriceId);
    const [owner, known] = await Promise.all([
      processorCustomerId === null ? undefined : customers.findHeld(tx, processorCustomerId),
      plans.find(tx, prices),
    ]);
    if (!isOurId(id) || owner === undefined) return nothingInserted;
    const customerId = owner.id;
    const planOf = (price: string): Plan | undefined => known.get(price);
    const after = toCheckout(facts, { id, customerId, planOf, now });
    if (after === undefined) return nothingInserted;
    const created = await store.insert(tx, [after]);
    if (created.length === 0) return nothingInserted;
    const plan = [...known.values()].find((one) => one.id === after.planId);
    if (after.status !== 'open') await this.#end(tx, after);
    const mayStay =
      after.status !== 'open' || ((await this.#hold(tx, after, plan)) && owner.deletedAt === null);
    tx.afterCommit(() => this.#parts.metrics.checkouts.inc({ mode: after.mode, outcome: 'created' }));
    return { created, lost: mayStay ? [] : [this.keyOf(facts)] };
  }

  /** From now on, the row of the subscription shows that the group is taken. */
  async #end(tx: Transaction, { id, mode, status }: Checkout): Promise<void> {
    const { grouping, metrics } = this.#parts;
    if (mode === 'subscription') await grouping.groups.endReservation(tx, id);
    tx.afterCommit(() => metrics.checkouts.inc({ mode, outcome: status }));
  }

  /** Recovers the customer and the plans of a checkout without a row. False if the checkout does not belong to Till. */
  async #recoverOwners(facts: CheckoutFacts): Promise<boolean> {
    const { lostCustomers, plans } = this.#parts;
    if (!isOurId(facts.localId) || !(await lostCustomers.recover(facts))) return false;
    for (const { processorPriceId } of facts.items) await plans.recover(processorPriceId);
    return true;
  }
}

/**
 * The id of the subscription or payment that a checkout results in. It is derived from the id of the checkout, which
 * the claim fixes, so every process and every repeated request knows it.
 */
export function resultIdOf(checkoutId: string): string {
  return derivedId('checkout', checkoutId, idTime(checkoutId));
}

interface CheckoutLinks {
  readonly id: string;
  readonly customerId: string;
  readonly planOf: (processorPriceId: string) => Plan | undefined;
  readonly now: Date;
}

/** Undefined if the main plan has no row. */
function toCheckout(
  facts: CheckoutFacts,
  { id, customerId, planOf, now }: CheckoutLinks,
): Checkout | undefined {
  const items = facts.items.flatMap(({ processorPriceId, quantity }) => {
    const plan = planOf(processorPriceId);
    return plan === undefined ? [] : [{ plan, quantity }];
  });
  const main = items.find(({ plan }) => !plan.addOn) ?? items[0];
  if (facts.mode === 'subscription' && main === undefined) return undefined;
  return {
    id,
    processorCheckoutSessionId: facts.processorCheckoutSessionId,
    customerId,
    ...valuesOfCheckout(facts),
    planId: main?.plan.id ?? null,
    quantity: main?.quantity ?? null,
    addOns: items
      .filter((item) => item !== main)
      .map(({ plan, quantity }) => ({ planId: plan.id, quantity }))
      .toSorted(by(({ planId }) => planId)),
    ...resultsOf(facts, resultIdOf(id), now),
    metadata: facts.metadata,
    ...rowTime(facts.asOf),
    createdAt: idTime(id),
    updatedAt: now,
    revision: 0,
  };
}
