import { type Customer, type CustomerFacts, eraseCustomer } from '#core/model/customer.ts';
import { type Applied, rowTime, type Source } from '#core/model/facts.ts';
import { noMetadata, type OwnedChange, ownersOfNewMetadata } from '#core/model/metadata.ts';
import { idTime, isOurId } from '#core/platform/id.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { applyToRows, type Inserted, lockRows } from '#engine/mirrors/apply-facts.ts';
import type { Mirror, MirrorContext } from '#engine/mirrors/mirror.ts';
import { ignoredAll, nothingApplied, revisionsOf, unknownToProcessor } from '#engine/mirrors/refresh.ts';
import { customerView } from './customer-fields.ts';
import { CustomerStore, type DeletedCustomer } from './customer-store.ts';
import { ExternalIdStore } from './external-id-store.ts';
import { type TakenExternalIds, takeExternalIds } from './external-ids.ts';

export class CustomerMirror implements Mirror<CustomerFacts> {
  readonly resource = 'customer';
  readonly #context: MirrorContext;
  readonly #store = new CustomerStore();
  readonly #externalIds = new ExternalIdStore();
  /** Called in the transaction that creates rows for lost customers. */
  readonly #onRecovered: (tx: Transaction, customers: readonly Customer[]) => Promise<void>;
  /** Erases the metadata of the objects of deleted customers. */
  readonly #eraseOwned: (tx: Transaction, customerIds: readonly string[]) => Promise<void>;

  constructor(
    context: MirrorContext,
    onRecovered: (tx: Transaction, customers: readonly Customer[]) => Promise<void>,
    eraseOwned: (tx: Transaction, customerIds: readonly string[]) => Promise<void>,
  ) {
    this.#context = context;
    this.#onRecovered = onRecovered;
    this.#eraseOwned = eraseOwned;
  }

  keyOf({ processorCustomerId }: Pick<CustomerFacts, 'processorCustomerId'>): string {
    return processorCustomerId;
  }

  async apply(tx: Transaction, facts: readonly CustomerFacts[], source: Source): Promise<Applied> {
    const { clock } = this.#context;
    const { keyOf } = this;
    const rows = await lockRows(tx, this.#store, facts, keyOf);
    const taken = await takeExternalIds(tx, this.#externalIds, rows);
    const inserted = await this.#insert(tx, rows.unknown, source, taken);
    const folding = { rows, inserted, source, keyOf, take: taken.take, view: customerView, now: clock.now() };
    const { applied, written } = await applyToRows(tx, this.#store, folding);
    await taken.freeUnused(written);
    const deleted = written.filter(isDeletion).map(({ after }) => after);
    if (deleted.length === 0) return applied;
    // A batch of events locks customers first, and must not lock their payments and subscriptions before it locks
    // others. A refresh erases them after its commit.
    if (source === 'events')
      return { ...applied, unsettled: [...new Set([...applied.unsettled, ...deleted.map(keyOf)])] };
    await this.#eraseOwned(
      tx,
      deleted.map(({ id }) => id),
    );
    return applied;
  }

  /**
   * If a row of another customer still has the external id that this customer has at the processor, refreshes that row
   * too. An ended claim may still reserve the external id for that customer, until its row is correct.
   */
  async refresh(key: string): Promise<Applied> {
    const { database } = this.#context;
    const first = await this.#refresh(key);
    if (first.externalId === null) return first.applied;
    const rival = await this.findHolder(first.externalId);
    if (rival === undefined || rival === 'unknown' || this.keyOf(rival) === key) return first.applied;
    const endedClaimId = await this.#externalIds.findEndedClaim(database, first.externalId);
    const { unsettled } = (await this.#refresh(this.keyOf(rival))).applied;
    if (endedClaimId !== undefined && unsettled.length === 0)
      await this.#externalIds.endReservation(database, endedClaimId);
    const { applied } = await this.#refresh(key);
    return { ...applied, changed: [...new Set([...first.applied.changed, ...applied.changed])] };
  }

  async #refresh(key: string): Promise<{ readonly applied: Applied; readonly externalId: string | null }> {
    const { database, processor } = this.#context;
    const [row] = await this.#store.findByKeys(database, [key]);
    if (row !== undefined && row.deletedAt !== null) {
      await this.eraseOwned(key);
      return { applied: nothingApplied, externalId: null };
    }
    const facts = await processor.customers.read(key);
    if (facts === null)
      return { applied: row === undefined ? ignoredAll(key) : unknownToProcessor, externalId: null };
    if (facts === 'deleted') {
      const changed = (await this.erase(key)) ? [key] : [];
      return { applied: { ...nothingApplied, changed }, externalId: null };
    }
    const applied = await database.transaction((tx) => this.apply(tx, [facts], revisionsOf(key, row)));
    // Usually the row has the external id already, so no other customer can have it.
    return { applied, externalId: facts.externalId === row?.externalId ? null : facts.externalId };
  }

  /**
   * Removes the personal data. False if the row has none left. `within` gets the id of the customer, and adds to the
   * transaction.
   */
  async erase(key: string, within: (tx: Transaction, id: string) => void = () => {}): Promise<boolean> {
    const { database, clock } = this.#context;
    const isErased = await database.transaction(async (tx) => {
      const [customer] = await this.#store.lockByKeys(tx, [key]);
      if (customer === undefined || customer.deletedAt !== null) return false;
      this.#store.update(tx, [{ before: customer, after: eraseCustomer(customer, clock.now()) }]);
      await this.#eraseOwned(tx, [customer.id]);
      within(tx, customer.id);
      return true;
    });
    // Also if another process deleted the customer, because that process may not have reached this step yet.
    await this.eraseOwned(key);
    return isErased;
  }

  /** Call it before you write new metadata to rows that belong to customers. See `eraseOwned`. */
  hold(tx: Transaction, written: readonly OwnedChange[]): void {
    const ids = ownersOfNewMetadata(written);
    if (ids.length > 0) this.#store.hold(tx, ids);
  }

  /**
   * The customer with this key. If it is not deleted, the last step of a deletion waits for this transaction, and sees
   * what it writes.
   */
  findHeld(tx: Transaction, key: string): Promise<Customer | undefined> {
    return this.#store.findHeld(tx, key);
  }

  /**
   * Erases the metadata of the objects of a deleted customer, after the deletion is committed. A transaction that
   * writes metadata locks the customer first. If it locks before this method waits, this method finds its row. If it
   * locks later, it sees the deletion. So a search for personal data after this method is complete.
   */
  async eraseOwned(key: string): Promise<void> {
    const { database } = this.#context;
    await this.#store.awaitHolders(database, key);
    await database.transaction(async (tx) => this.#eraseOwned(tx, await this.#store.makeSearchDue(tx, key)));
  }

  /** Deleted customers whose events are due for a search for personal data. */
  listToErase(without: readonly string[], limit: number): Promise<readonly DeletedCustomer[]> {
    return this.#store.listToErase(this.#context.database, without, limit);
  }

  /** Records a finished search for personal data. The first search schedules a second one. */
  async markErased(customer: DeletedCustomer): Promise<void> {
    const { database } = this.#context;
    await database.transaction(async (tx) => {
      await this.#store.markErased(tx, customer);
      await this.#eraseOwned(tx, [customer.id]);
    });
  }

  /** The customer that has this external id. `unknown`: a request reserves it for a customer without a row. */
  async findHolder(externalId: string): Promise<Customer | 'unknown' | undefined> {
    const { database } = this.#context;
    const [held] = await this.#externalIds.find(database, [externalId]);
    if (held === undefined) return undefined;
    return (await this.#store.findLive(database, [held.customerId]))[0] ?? 'unknown';
  }

  findByKeys(db: Queryable, keys: readonly string[]): Promise<readonly Customer[]> {
    return this.#store.findByKeys(db, keys);
  }

  /** The customers with these keys, including deleted ones. */
  async find(db: Queryable, keys: readonly (string | null)[]): Promise<CustomersByKey> {
    const customers = await this.#store.findByKeys(
      db,
      keys.filter((key) => key !== null),
    );
    const byKey = new Map(customers.map((customer) => [this.keyOf(customer), customer]));
    return { get: (key) => (key === null ? undefined : byKey.get(key)) };
  }

  async #insert(
    tx: Transaction,
    unknown: readonly CustomerFacts[],
    source: Source,
    { withFree }: TakenExternalIds,
  ): Promise<Inserted<Customer> | undefined> {
    const { clock } = this.#context;
    const now = clock.now();
    const ours = unknown.flatMap((facts) => (isOurId(facts.localId) ? [{ id: facts.localId, facts }] : []));
    if (ours.length === 0) return undefined;
    // An event without an email address or metadata may have been redacted, so the customer is refreshed instead.
    const isComplete = ({ email, metadata, deleted }: CustomerFacts) =>
      (email !== null && metadata !== null) || deleted || source !== 'events';
    const complete = ours.filter(({ facts }) => isComplete(facts));
    const created = await this.#store.insert(
      tx,
      complete.map(({ id, facts }) => toCustomer(id, withFree(id, facts), now)),
    );
    if (created.length > 0) await this.#onRecovered(tx, created);
    const isPartial = (id: string, facts: CustomerFacts) =>
      !isComplete(facts) || withFree(id, facts) !== facts;
    const lost = ours.filter(({ id, facts }) => isPartial(id, facts));
    return { created, lost: lost.map(({ facts }) => this.keyOf(facts)) };
  }
}

function isDeletion({ before, after }: { readonly before: Customer; readonly after: Customer }): boolean {
  return before.deletedAt === null && after.deletedAt !== null;
}

interface CustomersByKey {
  get(key: string | null): Customer | undefined;
}

/** A Till customer always has an email address. If the processor has none for a recovered customer, it is empty. */
export function toCustomer(id: string, facts: CustomerFacts, now: Date): Customer {
  const { processorCustomerId, email, name, phone, externalId, metadata, deleted, asOf } = facts;
  const person = deleted
    ? { email: null, name: null, phone: null, externalId: null, metadata: noMetadata }
    : { email: email ?? '', name, phone, externalId, metadata: metadata ?? noMetadata };
  return {
    id,
    processorCustomerId,
    ...person,
    deletedAt: deleted ? now : null,
    ...rowTime(asOf),
    createdAt: idTime(id),
    updatedAt: now,
    revision: 0,
  };
}
