import { noRevisions } from '../mirrors/refresh.ts';
import { derivedId, idTime, isOurId } from '../platform/id.ts';
import type { Database } from '../platform/postgres.ts';
import type { Processor } from '../processor/processor.ts';
import type { Customer, CustomerFacts } from './customer.ts';
import type { CustomerMirror } from './customer-mirror.ts';

/** The object that names a lost customer: when it was created, and when that was read. */
type Dependent = Pick<CustomerFacts, 'createdAt' | 'asOf'>;

interface LostCustomersParts {
  readonly database: Database;
  readonly mirror: CustomerMirror;
  readonly processor: Processor;
}

/** Recovers customers that the processor has and Till does not, for example after the restore of an older backup. */
export class LostCustomers {
  readonly #parts: LostCustomersParts;

  constructor(parts: LostCustomersParts) {
    this.#parts = parts;
  }

  /**
   * Makes sure that there is a row for the customer of a payment, subscription or invoice that carries a Till id.
   * False if the customer does not belong to Till. No transaction is open during the calls to the processor.
   */
  async recover(processorCustomerId: string, dependent: Dependent): Promise<boolean> {
    const { processor } = this.#parts;
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

  /** The processor's search by metadata may lag by an hour, so this lists every customer created since the id. */
  async #findById(id: string): Promise<CustomerFacts | null> {
    const { processor } = this.#parts;
    for await (const page of processor.customers.list({ since: idTime(id) })) {
      const facts = page.find(({ localId }) => localId === id);
      if (facts !== undefined) return facts;
    }
    return processor.events.findDeletedCustomer({ localId: id });
  }

  /**
   * A read of a deleted customer does not show its Till id. The deletion event does, for 30 days. After that the row gets
   * another id: payments need the row, and the API answers 404 for either id.
   */
  async #tombstone(processorCustomerId: string, { createdAt, asOf }: Dependent): Promise<CustomerFacts> {
    const deleted = await this.#parts.processor.events.findDeletedCustomer({ processorCustomerId });
    if (deleted !== null) return deleted;
    const localId = derivedId('customer', processorCustomerId, createdAt);
    return {
      processorCustomerId,
      localId,
      email: null,
      name: null,
      phone: null,
      deleted: true,
      createdAt,
      asOf,
    };
  }

  async #apply(facts: CustomerFacts): Promise<void> {
    const { database, mirror } = this.#parts;
    await database.transaction((tx) => mirror.apply(tx, [facts], noRevisions));
  }

  async #find(processorCustomerId: string): Promise<Customer | undefined> {
    const { database, mirror } = this.#parts;
    return (await mirror.find(database, [processorCustomerId])).get(processorCustomerId);
  }
}
