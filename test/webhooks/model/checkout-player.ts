import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestProcessor } from '../../support/backend.ts';
import { type OpenedBody, pages } from '../../support/checkouts.ts';
import type { Method } from '../../support/client.ts';
import { createPromotionCode } from '../../support/promotion-codes.ts';
import type { ApiClient } from './api-client.ts';
import type { Command } from './world.ts';

export type CheckoutCommand = Extract<
  Command,
  {
    what:
      | 'open checkout'
      | 'repeat checkout'
      | 'complete checkout'
      | 'read checkout'
      | 'expire checkout'
      | 'capture checkout';
  }
>;

/** A session that was opened, and the request that opened it. */
interface Opened {
  readonly id: string;
  readonly sessionId: string;
  readonly order: object;
  readonly code: string | null;
  /** When Till was last asked for it. For a second, requests share the response of the processor. */
  askedMs: number;
}

const sharedMs = 1_000;

export interface Buyer {
  readonly id: string;
  readonly processorCustomerId: string;
}

/** Buys on the processor's pages: Till's part through its API, the buyer's part through the sandbox. */
export class CheckoutPlayer {
  readonly #till: ApiClient;
  readonly #processor: TestProcessor;
  readonly #opened: Opened[] = [];
  /** The payment intents that attempts to pay have created. */
  readonly #intentIds = new Set<string>();

  constructor(till: ApiClient, processor: TestProcessor) {
    this.#till = till;
    this.#processor = processor;
  }

  get paymentIntentIds(): readonly string[] {
    return [...this.#intentIds];
  }

  async open(
    command: Pick<Extract<CheckoutCommand, { what: 'open checkout' }>, 'amount' | 'percent'>,
    buyer: Buyer,
    sold: object,
  ) {
    const { processorCustomerId: customer } = buyer;
    const allowsCodes = 'planId' in sold && command.percent !== null;
    const code = allowsCodes
      ? (await createPromotionCode(this.#processor, { customer }, { percent_off: command.percent })).code
      : null;
    const order = {
      ...pages,
      customerId: buyer.id,
      ...sold,
      ...(allowsCodes ? { allowPromotionCodes: true } : {}),
      metadata: { order: String(command.amount) },
      idempotencyKey: randomUUID(),
    };
    const opened = await this.#till.call<OpenedBody>('POST', 'checkouts', order);
    if (opened === undefined) return;
    const { id, processorCheckoutSessionId: sessionId } = opened.checkout;
    this.#opened.push({ id, sessionId, order, code, askedMs: 0 });
  }

  async play(command: Exclude<CheckoutCommand, { what: 'open checkout' }>, buyer: Buyer): Promise<unknown> {
    const one = this.#opened[command.which % Math.max(this.#opened.length, 1)];
    if (one === undefined) return;
    switch (command.what) {
      case 'repeat checkout':
        return this.#ask(one, 'POST', 'checkouts', one.order);
      case 'complete checkout':
        return this.#complete(one, command, buyer);
      case 'read checkout':
        return this.#read(one);
      case 'expire checkout':
        return command.by === 'till'
          ? this.#till.call('POST', `checkouts/${one.id}/expire`)
          : this.#processor.stripe.checkout.sessions.expire(one.sessionId);
      case 'capture checkout': {
        const paymentId = (await this.#read(one))?.checkout.paymentId;
        const body = { idempotencyKey: randomUUID() };
        return paymentId == null ? undefined : this.#till.call('POST', `payments/${paymentId}/capture`, body);
      }
    }
  }

  /** What the buyer enters in one tab, and perhaps the same in a second one. */
  async #complete(
    one: Opened,
    {
      card,
      authenticate,
      entersCode,
      tabs,
      returns,
    }: Extract<CheckoutCommand, { what: 'complete checkout' }>,
    { processorCustomerId: customer }: Buyer,
  ): Promise<void> {
    const { stripe, control } = this.#processor;
    const { data } = await stripe.checkout.sessions.list({ customer, status: 'open', limit: 100 });
    if (data.every(({ id }) => id !== one.sessionId)) return;
    const entered = {
      payment_method: card,
      authenticate,
      ...(entersCode && one.code !== null ? { promotion_code: one.code } : {}),
    };
    const attempts = Array.from({ length: tabs }, async () => {
      const session = Object(await control(`checkout_sessions/${one.sessionId}/complete`, entered));
      if (typeof session.payment_intent === 'string') this.#intentIds.add(session.payment_intent);
      return session.status === 'complete';
    });
    const results = await Promise.allSettled(attempts);
    // Only one tab can pay. The other one finds that the session is no longer open, or that the code is used.
    const paid = results.filter((result) => result.status === 'fulfilled' && result.value).length;
    assert.ok(paid <= 1, `${one.sessionId} was completed ${paid} times`);
    const isShared = performance.now() - one.askedMs <= sharedMs;
    if (paid === 0 || !returns || isShared) return;
    const found = await this.#read(one);
    // Not if the processor failed.
    if (found !== undefined) assert.equal(found.checkout.status, 'completed', one.sessionId);
  }

  /** A completed checkout names what the API already shows. */
  async #read(one: Opened): Promise<OpenedBody | undefined> {
    const { id } = one;
    const found = await this.#ask(one, 'GET', `checkouts/${id}`);
    if (found === undefined) return undefined;
    const { status, subscriptionId, paymentId, paymentMethodId } = found.checkout;
    const results = [subscriptionId, paymentId, paymentMethodId].filter((result) => result !== null);
    assert.equal(results.length, status === 'completed' ? 1 : 0, `${id} is ${status}`);
    for (const path of [`subscriptions/${subscriptionId}`, `payments/${paymentId}`])
      if (!path.endsWith('/null')) assert.ok(await this.#till.call('GET', path), `${path} of ${id}`);
    return found;
  }

  /** A failure is shared for a second too, so it is not repeated. */
  async #ask(one: Opened, method: Method, path: string, body?: object): Promise<OpenedBody | undefined> {
    try {
      return await this.#till.call<OpenedBody>(method, path, body);
    } catch (error) {
      if (/ returned 50[34]: /.test(String(error))) return undefined;
      throw error;
    } finally {
      one.askedMs = performance.now();
    }
  }
}
