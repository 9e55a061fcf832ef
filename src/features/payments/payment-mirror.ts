import { type ChargeFacts, takeChargeFacts } from '#core/model/charge.ts';
import { type Applied, rowTime, type Source } from '#core/model/facts.ts';
import type { OwnedChange } from '#core/model/metadata.ts';
import {
  firstValuesOfPayment,
  noInvoice,
  type Payment,
  type PaymentFacts,
  takePaymentFacts,
} from '#core/model/payment.ts';
import { derivedId, idTime, isOurId } from '#core/platform/id.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import {
  applyToRows,
  createdWithoutMetadata,
  type Inserted,
  type LockedRows,
  lockRows,
} from '#engine/mirrors/apply-facts.ts';
import type { Mirror, MirrorContext } from '#engine/mirrors/mirror.ts';
import {
  findOrRefresh,
  ignoredAll,
  noRevisions,
  revisionsOf,
  unknownToProcessor,
} from '#engine/mirrors/refresh.ts';
import type { CustomerMirror } from '../customers/customer-mirror.ts';
import type { LostCustomers } from '../customers/lost-customers.ts';
import { paymentView } from './payment-fields.ts';
import type { PaymentStore } from './payment-store.ts';
import {
  type ChargedPayment,
  type ChargeOf,
  mayBeCharge,
  type SubscriptionCharge,
  type SubscriptionCharges,
} from './subscription-charges.ts';

/** A row is normally written within a second of its payment. After a crash or a restore it is late. */
const lateAfterMs = 60_000;

interface PaymentMirrorParts extends MirrorContext {
  readonly store: PaymentStore;
  readonly customers: CustomerMirror;
  readonly lostCustomers: LostCustomers;
  readonly subscriptionCharges: SubscriptionCharges;
  /** Called in the transaction in which payments of these checkouts succeed. */
  readonly onCheckoutsPaid: (tx: Transaction, checkoutIds: readonly string[]) => Promise<void>;
}

export class PaymentMirror implements Mirror<PaymentFacts> {
  readonly resource = 'payment';
  /** For events about charges. A charge is one attempt to pay. */
  readonly ofCharges: Mirror<ChargeFacts>;
  readonly #parts: PaymentMirrorParts;

  constructor(parts: PaymentMirrorParts) {
    this.#parts = parts;
    this.ofCharges = {
      resource: 'payment',
      keyOf: this.keyOf,
      apply: (tx, facts, source) => this.#applyCharges(tx, facts, source),
      refresh: (key) => this.refresh(key),
    };
  }

  keyOf({ processorPaymentIntentId }: Pick<PaymentFacts, 'processorPaymentIntentId'>): string {
    return processorPaymentIntentId;
  }

  /** Records payments of subscriptions that have no row yet. */
  recordCharges(tx: Transaction, charges: readonly ChargedPayment[]): Promise<Applied> {
    const byKey = new Map(charges.map(({ facts, charge }) => [this.keyOf(facts), charge]));
    return this.apply(
      tx,
      charges.map(({ facts }) => facts),
      noRevisions,
      (facts) => byKey.get(this.keyOf(facts)),
    );
  }

  /** Creates the row of a payment without a Till id only if `chargeOf` returns its invoice. */
  async apply(
    tx: Transaction,
    facts: readonly PaymentFacts[],
    source: Source,
    chargeOf?: ChargeOf,
  ): Promise<Applied> {
    const { store, clock, customers } = this.#parts;
    const { keyOf } = this;
    const now = clock.now();
    const rows = await lockRows<Payment, PaymentFacts>(tx, store, facts, keyOf);
    const inserted = await (chargeOf === undefined
      ? this.#insert(tx, rows, source, now)
      : this.#insertCharges(tx, rows.unknown, chargeOf, now));
    const beforeWrite = (written: readonly OwnedChange[]) => customers.hold(tx, written);
    const take = takePaymentFacts;
    const folding = { rows, inserted, source, keyOf, take, view: paymentView, now, beforeWrite };
    const { applied, written } = await applyToRows(tx, store, folding);
    const created = inserted?.created ?? [];
    const turned = written.filter(({ before, after }) => before.intentStatus !== after.intentStatus);
    const changed = [...turned.map(({ after }) => after), ...created];
    // Earlier refunds do not count yet.
    const refunded = turned
      .map(({ after }) => after)
      .filter(({ amountRefunded, amountReserved }) => amountRefunded + amountReserved > 0);
    if (refunded.length > 0) await store.addUpRefunds(tx, refunded, now);
    if (changed.length > 0) tx.afterCommit(() => this.countSucceeded(changed));
    this.countDisputed(tx, written);
    const paid = changed.flatMap(({ intentStatus, checkoutId }) =>
      intentStatus === 'succeeded' && checkoutId !== null ? [checkoutId] : [],
    );
    if (paid.length > 0) await this.#parts.onCheckoutsPaid(tx, paid);
    const isLate = ({ createdAt, processorInvoiceId }: Payment) =>
      processorInvoiceId === null && now.getTime() - createdAt.getTime() > lateAfterMs;
    const late = created.filter(isLate).map(keyOf);
    // The row of a payment of a checkout comes from an event, and every such payment has a description.
    const isUndescribed = ({ checkoutId, description }: Payment) =>
      checkoutId !== null && description === null;
    const undescribed = [...rows.known, ...created].filter(isUndescribed).map(keyOf);
    // Events do not contain everything that a row stores, and events about earlier charges found no row.
    const incomplete = [
      ...(source === 'events' ? [...late, ...undescribed] : []),
      ...createdWithoutMetadata(source, rows, inserted, keyOf),
    ];
    return { ...applied, unsettled: [...new Set([...applied.unsettled, ...incomplete])], late };
  }

  /** Inserts payments that were just created. Returns those that had no row. */
  insertCreated(rows: readonly Payment[]): Promise<readonly Payment[]> {
    return this.#parts.database.transaction((tx) => this.#insertRows(tx, rows));
  }

  /**
   * Counts succeeded payments, given the payments whose status is new. Payments of subscriptions do not count. Call it
   * after the commit.
   */
  countSucceeded(payments: readonly Payment[]): void {
    const succeeded = payments.filter(
      ({ intentStatus, processorInvoiceId }) => intentStatus === 'succeeded' && processorInvoiceId === null,
    ).length;
    if (succeeded > 0) this.#parts.metrics.paymentsSucceeded.inc(succeeded);
  }

  /** Counts each payment once, when its row gets its first dispute. */
  countDisputed(
    tx: Transaction,
    written: readonly { readonly before: Payment; readonly after: Payment }[],
  ): void {
    const isNew = ({ before, after }: (typeof written)[number]) =>
      before.dispute === null && after.dispute !== null;
    const disputed = written.filter(isNew).length;
    if (disputed > 0) tx.afterCommit(() => this.#parts.metrics.paymentsDisputed.inc(disputed));
  }

  /** `isDisputed`: the caller knows that the payment is disputed. */
  async refresh(key: string, { isDisputed = false } = {}): Promise<Applied> {
    const { database, store, processor } = this.#parts;
    const [row] = await store.findByKeys(database, [key]);
    const facts = (await processor.payments.read(key))?.payment;
    if (row === undefined) return facts === undefined ? ignoredAll(key) : this.#recover(facts, isDisputed);
    if (facts === undefined) return unknownToProcessor;
    const whole = await this.#withDisputes(facts, isDisputed || row.dispute !== null);
    return database.transaction((tx) => this.apply(tx, [whole], revisionsOf(key, row)));
  }

  findByKeys(db: Queryable, keys: readonly string[]): Promise<readonly Payment[]> {
    return this.#parts.store.findByKeys(db, keys);
  }

  /** The row, which is created first if it is missing. Undefined if the payment does not belong to Till. */
  findOrRefresh(key: string): Promise<Payment | undefined> {
    const find = () => this.findByKeys(this.#parts.database, [key]);
    return findOrRefresh(find, () => this.refresh(key));
  }

  /** Locks the payments of several subjects of a batch, for example of charges and refunds. */
  async lock(tx: Transaction, keys: readonly string[]): Promise<void> {
    await this.#parts.store.lockByKeys(tx, keys);
  }

  /** The keys of open payments without recent events. */
  listStale(limit: number): Promise<readonly string[]> {
    return this.#parts.store.listStale(this.#parts.database, limit);
  }

  async markChecked(key: string): Promise<void> {
    await this.#parts.store.markChecked(this.#parts.database, key);
  }

  /**
   * The charge of a payment without a row needs a refresh if the payment belongs to Till: its row was lost, or is
   * written late.
   */
  async #applyCharges(tx: Transaction, facts: readonly ChargeFacts[], source: Source): Promise<Applied> {
    const { store, clock } = this.#parts;
    const { keyOf } = this;
    const rows = await lockRows<Payment, ChargeFacts>(tx, store, facts, keyOf);
    const lost = rows.unknown.filter(({ localId }) => isOurId(localId)).map(keyOf);
    const inserted = lost.length === 0 ? undefined : { created: [], lost };
    const folding = {
      rows,
      inserted,
      source,
      keyOf,
      take: takeChargeFacts<Payment>,
      view: paymentView,
      now: clock.now(),
    };
    return (await applyToRows(tx, store, folding)).applied;
  }

  /**
   * Records the payment of an invoice. A payment that was created through the API can be attached to an invoice, too.
   */
  recordMissing(facts: PaymentFacts, charge: SubscriptionCharge): Promise<Applied> {
    return isOurId(facts.localId) ? this.#recover(facts) : this.#record(facts, charge);
  }

  /** Recovers a Till payment whose row was lost. Recovers its customer first, if that was lost too. */
  async #recover(facts: PaymentFacts, isDisputed = false): Promise<Applied> {
    const { database, lostCustomers } = this.#parts;
    const key = this.keyOf(facts);
    if (!isOurId(facts.localId)) return this.#recoverCharge(facts, isDisputed);
    if (!(await lostCustomers.recover(facts))) return ignoredAll(key);
    const whole = await this.#withDisputes(facts, isDisputed);
    const applied = await database.transaction((tx) => this.apply(tx, [whole], noRevisions));
    return { ...applied, late: [key] };
  }

  /** Records the charge of a Till subscription. Reads nothing for customers that do not belong to Till. */
  async #recoverCharge(facts: PaymentFacts, isDisputed: boolean): Promise<Applied> {
    const { database, customers, subscriptionCharges } = this.#parts;
    const { processorCustomerId } = facts;
    const key = this.keyOf(facts);
    const owners = await customers.find(database, [processorCustomerId]);
    if (owners.get(processorCustomerId) === undefined) return ignoredAll(key);
    return this.#record(facts, await subscriptionCharges.findByPayment(key), isDisputed);
  }

  async #record(
    facts: PaymentFacts,
    charge: SubscriptionCharge | undefined,
    isDisputed = false,
  ): Promise<Applied> {
    const key = this.keyOf(facts);
    if (charge === undefined) return ignoredAll(key);
    const whole = await this.#withDisputes(facts, isDisputed);
    const applied = await this.#parts.database.transaction((tx) =>
      this.apply(tx, [whole], noRevisions, () => charge),
    );
    // Events about its refunds may have found no row.
    return facts.charge?.hasRefunds ? { ...applied, late: [key] } : applied;
  }

  /** Only a disputed payment needs this second call. */
  async #withDisputes(facts: PaymentFacts, isDisputed: boolean): Promise<PaymentFacts> {
    if (!isDisputed && facts.isDisputed !== true) return facts;
    return { ...facts, disputes: await this.#parts.processor.disputes.listOfPayment(this.keyOf(facts)) };
  }

  async #insertCharges(
    tx: Transaction,
    unknown: readonly PaymentFacts[],
    chargeOf: ChargeOf,
    now: Date,
  ): Promise<Inserted<Payment>> {
    const rows = unknown.flatMap((facts) => {
      const charge = chargeOf(facts);
      return charge === undefined ? [] : [toChargedPayment(facts, charge, now)];
    });
    return { created: await this.#insertRows(tx, rows), lost: [] };
  }

  /**
   * A payment intent with a Till id whose customer has no row is lost. One without a Till id is lost too if it may be
   * the charge of a Till subscription: a refresh finds its invoice. Others belong to other applications.
   */
  async #insert(
    tx: Transaction,
    { unknown, groups }: LockedRows<Payment, PaymentFacts>,
    source: Source,
    now: Date,
  ): Promise<Inserted<Payment> | undefined> {
    const { customers } = this.#parts;
    const ours = unknown.flatMap((facts) => (isOurId(facts.localId) ? [{ id: facts.localId, facts }] : []));
    const charges = unknown.filter(
      (facts) =>
        !isOurId(facts.localId) && groups.get(this.keyOf(facts))?.some((one) => mayBeCharge(one, source)),
    );
    if (ours.length === 0 && charges.length === 0) return undefined;
    const candidates = [...ours.map(({ facts }) => facts), ...charges];
    const owners = await customers.find(
      tx,
      candidates.map(({ processorCustomerId }) => processorCustomerId),
    );
    const ownerOf = ({ processorCustomerId }: PaymentFacts) => owners.get(processorCustomerId);
    const payments = ours.flatMap(({ id, facts }) => {
      const customer = ownerOf(facts);
      return customer === undefined ? [] : [toPayment(id, facts, customer.id, now)];
    });
    const isLost = (facts: PaymentFacts) =>
      isOurId(facts.localId) ? ownerOf(facts) === undefined : ownerOf(facts) !== undefined;
    const lost = candidates.filter(isLost);
    return { created: await this.#insertRows(tx, payments), lost: lost.map(this.keyOf) };
  }

  #insertRows(tx: Transaction, rows: readonly Payment[]): Promise<readonly Payment[]> {
    const { store, customers } = this.#parts;
    customers.hold(
      tx,
      rows.map((after) => ({ after })),
    );
    return store.insert(tx, rows);
  }
}

/** The id of the row is derived from the processor's id, so that a lost row gets the same id again. */
function toChargedPayment(
  facts: PaymentFacts,
  { customerId, ...link }: SubscriptionCharge,
  now: Date,
): Payment {
  const id = derivedId('payment', facts.processorPaymentIntentId, facts.createdAt);
  return { ...toPayment(id, facts, customerId, now), ...link, description: null };
}

export function toPayment(id: string, facts: PaymentFacts, customerId: string, now: Date): Payment {
  return {
    id,
    processorPaymentIntentId: facts.processorPaymentIntentId,
    customerId,
    checkoutId: facts.checkoutId,
    ...noInvoice,
    ...firstValuesOfPayment(facts),
    amountRefunded: 0,
    amountReserved: 0,
    status: facts.status,
    ...rowTime(facts.asOf),
    createdAt: idTime(id),
    updatedAt: now,
    revision: 0,
  };
}
