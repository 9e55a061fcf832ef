import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { requireFound } from '#core/errors.ts';
import { type Checkout, checkoutCompleted, checkoutInProgress } from '#core/model/checkout.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import { soldGroupOf } from '#core/model/plan.ts';
import { refuseReturnUrls } from '#core/model/return-url.ts';
import { PacedCalls } from '#core/platform/paced-calls.ts';
import { SharedReads } from '#core/platform/shared-statement.ts';
import type { OperationResult } from '#engine/idempotency/operation.ts';
import {
  type Buyer,
  type CheckoutContext,
  type CheckoutCreation,
  checkoutCreation,
  groupedCheckoutCreation,
  type NewCheckoutRequest,
  type OpenedCheckout,
  type OpenPages,
} from './checkout-creation.ts';

/** How often a waiting request looks at the row. Reads of concurrent requests share a statement. */
const rowDelayMs = 500;
/** Part of the API contract: how often a waiting request asks the processor. */
const askDelayMs = 5_000;
/** Rows per page when all open checkouts are compared with the processor. */
const openPageSize = 100;

interface ReadCheckout extends OpenedCheckout {
  /** When the call began whose response the request shared, by `performance.now()`. */
  readonly sharedMs?: number;
}

export class CheckoutService implements OpenPages {
  /** The sweeper also uses it. */
  readonly creation: CheckoutCreation;
  readonly #context: CheckoutContext;
  readonly #reads: SharedReads<Checkout>;
  /** Asks the processor about open checkouts, and brings their rows up to date. Returns the URLs of their pages. */
  readonly #asking: PacedCalls<string | null>;

  constructor(context: CheckoutContext) {
    this.#context = context;
    this.creation = checkoutCreation(context, this);
    this.#reads = new SharedReads((ids) => context.store.find(context.database, ids));
    this.#asking = new PacedCalls((key) => context.mirror.readUrl(key));
  }

  async create(
    buyer: Buyer,
    wanted: Omit<NewCheckoutRequest, 'customerId' | 'buyer'>,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<OpenedCheckout>> {
    const { idempotency, plans, returnUrlOrigins } = this.#context;
    const { sold, page } = wanted;
    refuseReturnUrls({ successUrl: page.successUrl, cancelUrl: page.cancelUrl }, returnUrlOrigins);
    const request = { customerId: await this.#customerIdOf(buyer, key), buyer, ...wanted };
    const plan = sold.mode === 'subscription' ? await plans.find(sold.planId) : undefined;
    if (plan === undefined || soldGroupOf(plan) === null) return idempotency.run(this.creation, request, key);
    const creation = groupedCheckoutCreation(this.#context, this, request, plan.id);
    return idempotency.run(creation, request, key);
  }

  async read(id: string): Promise<Checkout> {
    return requireFound('checkout', await this.#reads.read(id));
  }

  list(request: ListRequest): Promise<ListPage<Checkout>> {
    const { database, store } = this.#context;
    return database.read((db) => store.list(db, request));
  }

  /** The checkout as the processor shows it now, and the URL of its page. Only an open one needs a call. */
  async get(id: string): Promise<ReadCheckout> {
    const checkout = await this.read(id);
    return checkout.status === 'open' ? this.open(checkout) : { checkout, url: null };
  }

  async open({ id, processorCheckoutSessionId: key }: Checkout): Promise<ReadCheckout> {
    const isShared = this.#asking.begunMs(key) !== undefined;
    const openedMs = performance.now();
    const url = await this.#asking.ask(key);
    const checkout = await this.read(id);
    const opened = { checkout, url: checkout.status === 'open' ? url : null };
    return isShared ? { ...opened, sharedMs: openedMs } : opened;
  }

  /**
   * Waits until an open checkout has ended, and returns its final state. If the first response was shared, the buyer
   * may have paid after its call began. The next call is then made as soon as `PacedCalls` allows one, instead of after
   * five seconds.
   */
  async waitForEnd(opened: ReadCheckout, waitMs: number, signal: AbortSignal): Promise<OpenedCheckout> {
    const { id, processorCheckoutSessionId: key } = opened.checkout;
    const endMs = performance.now() + waitMs;
    let current: OpenedCheckout = opened;
    let { sharedMs } = opened;
    let askedMs = performance.now();
    while (current.checkout.status === 'open' && performance.now() < endMs) {
      const isOver = await setTimeout(rowDelayMs, false, { signal }).catch(() => true);
      if (isOver) break;
      const isDue =
        sharedMs === undefined
          ? performance.now() - askedMs >= askDelayMs
          : (this.#asking.begunMs(key) ?? Number.POSITIVE_INFINITY) > sharedMs;
      if (isDue) [askedMs, sharedMs] = [performance.now(), undefined];
      const { checkout, url } = isDue
        ? await this.get(id)
        : { checkout: await this.read(id), url: current.url };
      current = { checkout, url: checkout.status === 'open' ? url : null };
    }
    return current;
  }

  /** The processor decides: a buyer may complete the checkout at the same moment. */
  async expire(id: string): Promise<Checkout> {
    const checkout = await this.#end(await this.read(id));
    if (checkout.status === 'completed') throw checkoutCompleted(checkout);
    if (checkout.status === 'open') throw checkoutInProgress(checkout);
    return checkout;
  }

  /** Expires the open checkouts of a customer who is about to be deleted. One that is completed meanwhile stays. */
  async expireOfCustomer(customerId: string): Promise<void> {
    const { store, database } = this.#context;
    for (const { id } of await store.listOpenOfCustomer(database, customerId)) await this.expireIfOpen(id);
  }

  async isOpen(id: string): Promise<boolean> {
    return (await this.#reads.read(id))?.status === 'open';
  }

  async expireIfOpen(id: string): Promise<void> {
    const { database, store } = this.#context;
    const [row] = await store.find(database, [id]);
    if (row === undefined) return;
    const checkout = await this.#end(row);
    if (checkout.status === 'open') throw checkoutInProgress(checkout);
  }

  /** The keys of all open checkouts, or of those of one customer, page by page. */
  async *listOpen(customerId?: string): AsyncGenerator<readonly string[]> {
    const filters = { customerId, status: 'open' };
    let cursor: string | undefined;
    do {
      const page = await this.list({ limit: openPageSize, cursor, filters });
      yield page.data.map((row) => row.processorCheckoutSessionId);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** Expires an open checkout unless the processor refuses, and returns the state at the processor. */
  async #end(row: Checkout): Promise<Checkout> {
    const { mirror, processor } = this.#context;
    const { id, status, processorCheckoutSessionId } = row;
    if (status !== 'open') return row;
    // Every request has its own processor key, because expiring a second time has no further effect.
    await processor.checkouts.expire({ processorCheckoutSessionId, idempotencyKey: randomUUID() });
    // A refusal alone does not say whether the checkout is completed or expired, or a payment is in progress.
    await mirror.readUrl(processorCheckoutSessionId);
    return this.read(id);
  }

  /**
   * A repeated request concerns the customer that the first one with its idempotency key found or created. The external
   * id may have moved since.
   */
  async #customerIdOf(buyer: Buyer, key: IdempotencyKey | undefined): Promise<string> {
    if ('customerId' in buyer) return buyer.customerId;
    const { customers, database, idempotency, store } = this.#context;
    const parentId = key && (await idempotency.findParent(this.creation, key));
    if (parentId == null) return (await customers.findOrCreate({ ...buyer.customer, phone: null })).id;
    // If the request returned a checkout that was open already, the parent is that checkout.
    const [existing] = await store.find(database, [parentId]);
    return existing?.customerId ?? parentId;
  }
}
