import { noRevisions } from '../mirrors/refresh.ts';
import { derivedId, idTime, isOurId } from '../platform/id.ts';
import type { Database } from '../platform/postgres.ts';
import type { Processor } from '../processor/processor.ts';
import type { Customer, CustomerFacts } from './customer.ts';
import type { CustomerService } from './customer-service.ts';

/** The object that names a lost customer: when it was made, and when that was read. */
type Dependent = Pick<CustomerFacts, 'createdAt' | 'asOf'>;

interface LostCustomersParts {
  readonly database: Database;
  readonly customers: CustomerService;
  readonly processor: Processor;
}

/** Recovers customers that the processor has and we do not, as after the restore of an older backup. */
export class LostCustomers {
  readonly #parts: LostCustomersParts;

  constructor(parts: LostCustomersParts) {
    this.#parts = parts;
  }

  /**
   * Makes sure that there is a row for the customer of a payment, subscription or invoice that carries a Till id.
   * False if the customer is not ours. The processor is read with no transaction open.
   */
  async recover(processorCustomerId: string, dependent: Dependent): Promise<boolean> {
    const { processor } = this.#parts;
    if (await this.#isKnown(processorCustomerId)) return true;
    const facts = await processor.customers.read(processorCustomerId);
    if (facts === null) return false;
    await this.#apply(facts === 'deleted' ? await this.#tombstone(processorCustomerId, dependent) : facts);
    return this.#isKnown(processorCustomerId);
  }

  /** Recovers a customer by our id; undefined if the processor has no customer that carries it. */
  async recoverById(id: string): Promise<Customer | undefined> {
    const { database, customers } = this.#parts;
    const facts = isOurId(id) ? await this.#find(id) : null;
    if (facts === null) return undefined;
    await this.#apply(facts);
    return (await customers.findByProcessorIds(database, [facts.processorCustomerId])).get(
      facts.processorCustomerId,
    );
  }

  /** The processor's search by metadata may lag by an hour, so every customer made since the id is listed. */
  async #find(id: string): Promise<CustomerFacts | null> {
    const { processor } = this.#parts;
    for await (const page of processor.customers.list({ since: idTime(id) })) {
      const facts = page.find(({ localId }) => localId === id);
      if (facts !== undefined) return facts;
    }
    return processor.events.findDeletedCustomer({ localId: id });
  }

  /**
   * A read of a deleted customer does not show our id. Its deletion event does, for 30 days. After that the tombstone gets
   * another id: payments need the row, and the API answers 404 under either id.
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
    const { database, customers } = this.#parts;
    await database.transaction((tx) => customers.apply(tx, [facts], noRevisions));
  }

  async #isKnown(processorCustomerId: string): Promise<boolean> {
    const { database, customers } = this.#parts;
    return (await customers.findByProcessorIds(database, [processorCustomerId])).size > 0;
  }
}
