import type { CustomerFacts } from '#core/model/customer.ts';
import type { Applied, Source } from '#core/model/facts.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { applyToRows, lockRows } from '#engine/mirrors/apply-facts.ts';
import type { Mirror, MirrorContext } from '#engine/mirrors/mirror.ts';
import { ignoredAll, revisionsOf } from '#engine/mirrors/refresh.ts';
import { type Contact, contactView, newContact, takeContact } from './contact.ts';
import { ContactStore } from './contact-store.ts';

/** Mirrors the customers that carry a Till id. */
export class ContactMirror implements Mirror<CustomerFacts> {
  readonly resource = 'contact';
  readonly store = new ContactStore();
  readonly #parts: MirrorContext;

  constructor(parts: MirrorContext) {
    this.#parts = parts;
  }

  keyOf({ processorCustomerId }: Pick<CustomerFacts, 'processorCustomerId'>): string {
    return processorCustomerId;
  }

  async apply(tx: Transaction, facts: readonly CustomerFacts[], source: Source): Promise<Applied> {
    const { keyOf, store } = this;
    const now = this.#parts.clock.now();
    const rows = await lockRows<Contact, CustomerFacts>(tx, store, facts, keyOf);
    const ours = rows.unknown.flatMap((one) =>
      one.localId === null ? [] : [newContact(one, one.localId, now)],
    );
    const created = await store.insert(tx, ours);
    const shared = { source, keyOf, take: takeContact, view: contactView, now };
    const inserted = ours.length === 0 ? undefined : { created, lost: [] };
    return (await applyToRows(tx, store, { ...shared, rows, inserted })).applied;
  }

  async refresh(key: string): Promise<Applied> {
    const { database, processor } = this.#parts;
    const [row] = await this.store.findByKeys(database, [key]);
    const facts = await processor.customers.read(key);
    if (facts === null || facts === 'deleted') return ignoredAll(key);
    return database.transaction((tx) => this.apply(tx, [facts], revisionsOf(key, row)));
  }
}
