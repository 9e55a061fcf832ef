import type { Customer, CustomerFacts } from '#core/model/customer.ts';
import { noMetadata } from '#core/model/metadata.ts';
import { derivedId, idTime, isOurId } from '#core/platform/id.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import { noRevisions } from '#engine/mirrors/refresh.ts';
import type { CustomerMirror } from './customer-mirror.ts';

/** The object that refers to a lost customer. */
type Dependent = Pick<CustomerFacts, 'createdAt' | 'asOf'>;

/** Recovers customers that exist at the processor but have no row, for example after the restore of an older backup. */
export class LostCustomers {
  readonly #context: MirrorContext;
  readonly #mirror: CustomerMirror;

  constructor(context: MirrorContext, mirror: CustomerMirror) {
    this.#context = context;
    this.#mirror = mirror;
  }

  /**
   * Ensures that the customer of a payment, subscription or invoice with a Till id has a row. Returns false if there is
   * no customer, or one that does not belong to Till. No transaction is open during the calls to the processor.
   */
  async recover(dependent: Dependent & { readonly processorCustomerId: string | null }): Promise<boolean> {
    const { processor } = this.#context;
    const { processorCustomerId } = dependent;
    if (processorCustomerId === null) return false;
    if ((await this.#find(processorCustomerId)) !== undefined) return true;
    const facts = await processor.customers.read(processorCustomerId);
    if (facts === null) return false;
    await this.#apply(facts === 'deleted' ? await this.#tombstone(processorCustomerId, dependent) : facts);
    return (await this.#find(processorCustomerId)) !== undefined;
  }

  /** Recovers a customer by its Till id. Undefined if the processor has no customer with this id. */
  async recoverById(id: string): Promise<Customer | undefined> {
    const facts = isOurId(id) ? await this.#findById(id) : null;
    if (facts === null) return undefined;
    await this.#apply(facts);
    return this.#find(facts.processorCustomerId);
  }

  /** The processor's metadata search may lag by an hour, so this lists every customer created since the id. */
  async #findById(id: string): Promise<CustomerFacts | null> {
    const { processor } = this.#context;
    for await (const { items } of processor.customers.list({ since: idTime(id) })) {
      const facts = items.find(({ localId }) => localId === id);
      if (facts !== undefined) return facts;
    }
    return processor.events.findDeletedCustomer({ localId: id });
  }

  /**
   * Reading a deleted customer does not return its Till id. The deletion event contains it, for 30 days. After that the
   * row gets another id: payments need the row, and the API returns 404 for either id.
   */
  async #tombstone(processorCustomerId: string, { createdAt, asOf }: Dependent): Promise<CustomerFacts> {
    const deleted = await this.#context.processor.events.findDeletedCustomer({ processorCustomerId });
    if (deleted !== null) return deleted;
    const localId = derivedId('customer', processorCustomerId, createdAt);
    return {
      processorCustomerId,
      localId,
      email: null,
      name: null,
      phone: null,
      externalId: null,
      metadata: noMetadata,
      deleted: true,
      createdAt,
      asOf,
    };
  }

  async #apply(facts: CustomerFacts): Promise<void> {
    const { database } = this.#context;
    await database.transaction((tx) => this.#mirror.apply(tx, [facts], noRevisions));
  }

  async #find(processorCustomerId: string): Promise<Customer | undefined> {
    const { database } = this.#context;
    return (await this.#mirror.find(database, [processorCustomerId])).get(processorCustomerId);
  }
}
