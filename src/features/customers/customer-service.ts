import { Failure, isDefiniteRefusal, notFound, requireFound } from '#core/errors.ts';
import type { Customer, CustomerChange } from '#core/model/customer.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import { type MetadataChange, type OwnedMetadata, refuseChange } from '#core/model/metadata.ts';
import { auditChange } from '#core/platform/cause.ts';
import { SharedReads } from '#core/platform/shared-statement.ts';
import { parentOf } from '#engine/idempotency/claim.ts';
import {
  type FoundClaim,
  lookUpOf,
  type OperationResult,
  ofSameRequest,
} from '#engine/idempotency/operation.ts';
import { applyResponse, correct } from '#engine/mirrors/refresh.ts';
import { notReached, objectMissing } from '#processor/port/attempt.ts';
import type { CustomerValues, Refused } from '#processor/port/processor.ts';
import type { CustomerLookUp, Marked } from '#processor/port/request-mark.ts';
import {
  type CreatedCustomer,
  type CustomerContext,
  type CustomerCreation,
  customerCreation,
  type IdentifiedCustomerCreation,
  identifiedCustomerCreation,
} from './customer-creation.ts';
import type { CustomerSummary } from './customer-store.ts';
import { type CustomerUpdate, customerUpdate, externalIdAdoption } from './customer-update.ts';

/** Rows per page when listing all customers: few enough to hold in memory, many enough to need few pages. */
const livePageSize = 1_000;

/** How the objects of a deleted customer change. */
export interface CustomerDependents {
  /**
   * Called before the deletion, because a buyer must not pay for a deleted customer. Called again at its end, for a
   * checkout that was created meanwhile.
   */
  readonly expireCheckouts: (customerId: string) => Promise<void>;
  /** Called after the deletion, because the processor then ends the subscriptions. */
  readonly correctSubscriptions: (customerId: string) => Promise<void>;
}

export class CustomerService {
  /** The sweeper also uses these two. */
  readonly creation: IdentifiedCustomerCreation;
  readonly updating: CustomerUpdate;
  readonly #anonymousCreation: CustomerCreation;
  readonly #externalIdAdoption: CustomerUpdate;
  readonly #context: CustomerContext;
  readonly #reads: SharedReads<Customer>;

  constructor(context: CustomerContext) {
    this.#context = context;
    this.creation = identifiedCustomerCreation(context);
    this.updating = customerUpdate(context);
    this.#anonymousCreation = customerCreation(context);
    this.#externalIdAdoption = externalIdAdoption(context);
    this.#reads = new SharedReads((ids) => context.store.findLive(context.database, ids));
  }

  create(values: CustomerValues, key: IdempotencyKey | undefined): Promise<OperationResult<CreatedCustomer>> {
    const { idempotency } = this.#context;
    const { externalId } = values;
    return externalId === undefined
      ? idempotency.run(this.#anonymousCreation, values, key)
      : idempotency.run(this.creation, { ...values, externalId }, key);
  }

  /** The customers as other objects show them, by their ids. Deleted customers are left out. */
  async summaries(ids: readonly string[]): Promise<ReadonlyMap<string, CustomerSummary>> {
    const { store, database } = this.#context;
    const found = await database.read((db) => store.findSummaries(db, [...new Set(ids)]));
    return new Map(found.map((summary) => [summary.id, summary]));
  }

  /** The customer with this external id, unchanged. Creates it if there is none. */
  async findOrCreate(values: CustomerValues & { readonly externalId: string }): Promise<Customer> {
    const holder = await this.#context.mirror.findHolder(values.externalId);
    if (holder !== undefined && holder !== 'unknown') return holder;
    try {
      return (await this.create(values, undefined)).result.customer;
    } catch (error) {
      // Another request has created it meanwhile, with other values.
      const takenBy = error instanceof Failure ? error.extras.customerId : undefined;
      if (takenBy === undefined) throw error;
      return this.read(takenBy);
    }
  }

  async read(id: string): Promise<Customer> {
    return requireFound('customer', await this.#reads.read(id));
  }

  list(request: ListRequest): Promise<ListPage<Customer>> {
    const { database, store } = this.#context;
    return database.read((db) => store.list(db, request));
  }

  async update(
    id: string,
    change: CustomerChange,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<Customer>> {
    // An empty change without an idempotency key needs no claim.
    if (key === undefined && Object.keys(change).length === 0)
      return { result: await this.read(id), replayed: false };
    return this.#context.idempotency.run(this.updating, { id, change }, key);
  }

  /** Like an update, for a customer without an external id. Fails with `OtherExternalId` if it has one by now. */
  async adoptExternalId(id: string, externalId: string, key: IdempotencyKey): Promise<void> {
    await this.#context.idempotency.run(this.#externalIdAdoption, { id, change: { externalId } }, key);
  }

  /**
   * Deletes the customer at the processor, which ends its subscriptions, and updates their rows. Erases the personal
   * data after that, so that the caller can repeat a request that fails halfway. A transaction that creates the row of
   * an open checkout after the deletion sees the deletion, so only earlier rows need to be expired here.
   */
  async delete(id: string, { expireCheckouts, correctSubscriptions }: CustomerDependents): Promise<void> {
    const { logger, mirror, processor } = this.#context;
    const customer = await this.read(id);
    const { processorCustomerId } = customer;
    await expireCheckouts(id);
    const attempt = await processor.customers.delete(processorCustomerId);
    if (attempt.outcome !== 'done') await this.#requireDeleted(customer, attempt);
    await correctSubscriptions(id);
    await mirror.erase(processorCustomerId, auditChange);
    // The customer is deleted, so the request cannot be repeated. The next refresh of such a checkout expires it.
    await expireCheckouts(id).catch((error: unknown) => {
      logger.warn({ err: error, customerId: id }, 'checkouts of a deleted customer not expired yet');
    });
  }

  /** A refused deletion does not prove that the customer is deleted. Only a read that returns `deleted` does. */
  async #requireDeleted(customer: Customer, refused: Refused): Promise<void> {
    const { database, mirror, processor } = this.#context;
    const current = await processor.customers.read(customer.processorCustomerId);
    if (current === 'deleted') return;
    if (current === null) throw objectMissing('customer');
    await applyResponse(database, mirror, current, customer);
    throw notReached(refused, 'customer', 'not deleted');
  }

  /**
   * The failure to report after a call to the processor about a customer failed. If the processor refused because it
   * has deleted the customer, the row is erased, and the caller gets a 404.
   */
  async explainRefusal(error: unknown, id: string): Promise<unknown> {
    const isAboutCustomer = isDefiniteRefusal(error) && error.extras.processorParam === 'customer';
    const customer = isAboutCustomer ? await this.findAny(id) : undefined;
    if (customer === undefined) return error;
    await correct(this.#context.mirror, customer.processorCustomerId);
    const corrected = await this.findAny(id);
    return corrected?.deletedAt === null ? error : notFound('customer');
  }

  /** Looks up what a claim may have created for its customer, who may have been deleted since. */
  async findCreated<Created>(
    claim: FoundClaim,
    find: (lookUp: CustomerLookUp) => Promise<Marked<Created> | null>,
  ): Promise<Created | null> {
    const customerId = parentOf(claim);
    const customer = await this.findAny(customerId);
    if (customer === undefined) return null;
    const { processorCustomerId } = customer;
    try {
      return ofSameRequest(claim, await find({ ...lookUpOf(claim), processorCustomerId }));
    } catch (error) {
      throw await this.explainRefusal(error, customerId);
    }
  }

  /** Refreshes the row. Fails if the processor has deleted the customer, or does not know it. */
  async correct({ id, processorCustomerId }: Customer): Promise<Customer> {
    await correct(this.#context.mirror, processorCustomerId);
    return this.read(id);
  }

  /**
   * Fails if an object of the customer cannot take this change. An object that had no metadata is not marked as erased.
   */
  async refuseMetadataChange(
    { customerId, metadata }: { readonly customerId: string; readonly metadata: OwnedMetadata },
    change: MetadataChange,
  ): Promise<void> {
    const customer = await this.findAny(customerId);
    refuseChange(customer?.deletedAt === null ? metadata : null, change);
  }

  /** Also finds deleted customers. */
  async findAny(id: string): Promise<Customer | undefined> {
    const { database, store } = this.#context;
    const [customer] = await store.find(database, [id]);
    return customer;
  }

  /** All customers that are not deleted, page by page. */
  async *listLive(): AsyncGenerator<readonly Customer[]> {
    const { database, store } = this.#context;
    let page = await store.listLiveAfter(database, null, livePageSize);
    while (page.length > 0) {
      yield page;
      page = await store.listLiveAfter(database, page.at(-1)?.id ?? null, livePageSize);
    }
  }
}
