import { randomUUID } from 'node:crypto';
import type { Random } from '../../../src/seed/random.ts';
import type { Ledger, MadeKind } from './load.ts';

interface Customer {
  readonly id: string;
  readonly processorCustomerId: string;
}

interface Plan {
  readonly id: string;
  readonly processorPriceId: string;
}

interface Payment {
  readonly id: string;
  readonly processorPaymentIntentId: string;
  readonly amount: number;
  readonly status: string;
}

interface Subscription {
  readonly id: string;
  readonly processorSubscriptionId: string;
}

/** How many of its own things a shopper comes back to; older ones are left in peace. */
const rememberedMax = 20;

const disputedCards = ['pm_card_createDispute', 'pm_card_createDisputeInquiry'];
/** The processor's test values: the bank decides for the merchant, against them, or not yet. */
const evidence = ['winning_evidence', 'losing_evidence', 'escalate_inquiry_evidence', 'other'];
/** The second can be saved, and is then declined. */
const savedCards = ['pm_card_visa', 'pm_card_chargeCustomerFail'];

/**
 * One client of the load, with customers, a plan and payments of its own. Each creation carries a mark by which the
 * processor's object is told from all others: an email, a name or an amount that is used once, a customer that
 * subscribes or saves a card once, a payment that is refunded once.
 */
export class Shopper {
  readonly #ledger: Ledger;
  readonly #random: Random;
  readonly #customers: Customer[] = [];
  readonly #paid: Payment[] = [];
  readonly #payments: Payment[] = [];
  readonly #subscriptions: Subscription[] = [];
  #plan: Plan | undefined;

  constructor(ledger: Ledger, random: Random) {
    this.#ledger = ledger;
    this.#random = random;
  }

  async doSomething(): Promise<void> {
    const customer = this.#pick(this.#customers);
    if (customer === undefined) return void (await this.#addCustomer());
    const acts: readonly (readonly [share: number, act: () => Promise<unknown>])[] = [
      [0.05, () => this.#addCustomer()],
      [0.27, () => this.#pay(customer)],
      [0.31, () => this.#payAndDispute(customer)],
      [0.4, () => this.#refund()],
      [0.45, () => this.#payAndCancel(customer)],
      [0.52, () => this.#authorise(customer)],
      [0.6, () => this.#subscribe()],
      [0.63, () => this.#unsubscribe()],
      [0.67, () => this.#saveCard()],
      [0.7, () => this.#rename(customer)],
      [0.9, () => this.#read(customer)],
      [1, () => this.#list(customer)],
    ];
    const dice = this.#random();
    await acts.find(([share]) => dice < share)?.[1]();
  }

  async #addCustomer(): Promise<Customer | undefined> {
    const email = `c${this.#ledger.nextNumber()}@example.com`;
    const body = { email, name: 'Ada' };
    const { client } = this.#ledger;
    const answer = await client.call<Customer>('POST', 'customers', body, randomUUID());
    if (!answer.isOk) throw refused('a customer', answer);
    this.#note('customers', answer.body.id, answer.body.processorCustomerId, email);
    this.#remember(this.#customers, answer.body);
    return answer.body;
  }

  async #pay({ id }: Customer): Promise<void> {
    const payment = await this.#addPayment({ customerId: id });
    const status = await this.#confirm(payment.processorPaymentIntentId);
    if (status === 'succeeded') this.#remember(this.#paid, payment);
  }

  /** The dispute comes after the answer, so that refunds may meet it. */
  async #payAndDispute({ id }: Customer): Promise<void> {
    const payment = await this.#addPayment({ customerId: id });
    const intentId = payment.processorPaymentIntentId;
    const status = await this.#confirm(intentId, this.#pick(disputedCards));
    if (status !== 'succeeded') return;
    this.#remember(this.#paid, payment);
    const uncategorized_text = this.#pick(evidence) ?? '';
    const { disputes } = this.#ledger.stripe;
    // What the processor refuses here is no matter between the client and Till.
    const { data } = await disputes.list({ payment_intent: intentId }).catch(() => ({ data: [] }));
    for (const dispute of data)
      await disputes.update(dispute.id, { evidence: { uncategorized_text } }).catch(() => {});
  }

  /** Captures all or a part of what is authorised, or gives it back. */
  async #authorise({ id }: Customer): Promise<void> {
    const payment = await this.#addPayment({ customerId: id, captureMethod: 'manual' });
    const intentId = payment.processorPaymentIntentId;
    if ((await this.#confirm(intentId)) !== 'requires_capture') return;
    const dice = this.#random();
    if (dice < 0.3) return this.#cancel(payment);
    const amount = dice < 0.6 ? Math.ceil(payment.amount / 3) : payment.amount;
    const body = { idempotencyKey: randomUUID(), ...(amount === payment.amount ? {} : { amount }) };
    const path = `payments/${payment.id}/capture`;
    const answer = await this.#ledger.client.call<{ amountReceived: number }>('POST', path, body);
    if (!answer.isOk || answer.body.amountReceived !== amount) throw refused('a capture', answer);
    this.#note('captures', payment.id, intentId, `${intentId} ${amount}`);
    this.#remember(this.#paid, payment);
  }

  async #payAndCancel({ id }: Customer): Promise<void> {
    await this.#cancel(await this.#addPayment({ customerId: id }));
  }

  async #cancel({ id }: Payment): Promise<void> {
    const answer = await this.#ledger.client.call('POST', `payments/${id}/cancel`);
    if (!answer.isOk) throw refused('canceling what nobody paid', answer);
  }

  async #addPayment(values: {
    readonly customerId: string;
    readonly captureMethod?: 'manual';
    readonly paymentMethodId?: string;
    readonly offSession?: true;
  }): Promise<Payment> {
    const amount = this.#ledger.nextNumber();
    const body = { ...values, amount, currency: 'eur', idempotencyKey: randomUUID() };
    const answer = await this.#ledger.client.call<{ payment: Payment }>('POST', 'payments', body);
    if (!answer.isOk) throw refused('a payment', answer);
    const { payment } = answer.body;
    this.#note('payments', payment.id, payment.processorPaymentIntentId, String(amount));
    this.#remember(this.#payments, payment);
    return payment;
  }

  /** What the frontend does. A processor that fails it is no matter between the client and Till. */
  async #confirm(intentId: string, payment_method = 'pm_card_visa'): Promise<string | undefined> {
    try {
      const order = { payment_method, return_url: 'https://shop.example.com/done' };
      return (await this.#ledger.stripe.paymentIntents.confirm(intentId, order)).status;
    } catch {
      return undefined;
    }
  }

  async #refund(): Promise<void> {
    const payment = this.#paid.shift();
    if (payment === undefined) return;
    const body = { idempotencyKey: randomUUID() };
    const path = `payments/${payment.id}/refund`;
    const answer = await this.#ledger.client.call<{ refund: { id: string; processorRefundId: string } }>(
      'POST',
      path,
      body,
    );
    // The payment may be disputed.
    if (!answer.isOk && answer.code === 'payment_not_refundable') return;
    if (!answer.isOk) throw refused('a refund', answer);
    const { id, processorRefundId } = answer.body.refund;
    this.#note('refunds', id, processorRefundId, payment.processorPaymentIntentId);
  }

  async #subscribe(): Promise<void> {
    this.#plan ??= await this.#addPlan();
    const customer = await this.#addCustomer();
    if (customer === undefined) return;
    const body = { customerId: customer.id, planId: this.#plan.id, idempotencyKey: randomUUID() };
    const answer = await this.#ledger.client.call<{ subscription: Subscription; clientSecret: string }>(
      'POST',
      'subscriptions',
      body,
    );
    if (!answer.isOk) throw refused('a subscription', answer);
    const { subscription, clientSecret } = answer.body;
    const { id, processorSubscriptionId } = subscription;
    this.#note('subscriptions', id, processorSubscriptionId, customer.processorCustomerId);
    await this.#confirm(clientSecret.split('_secret_')[0] ?? '');
    this.#remember(this.#subscriptions, subscription);
  }

  /** Saves a card, makes it the default, charges it without the customer, and sometimes removes it again. */
  async #saveCard(): Promise<void> {
    const customer = await this.#addCustomer();
    if (customer === undefined) return;
    const { client, stripe } = this.#ledger;
    const path = `customers/${customer.id}`;
    const body = { idempotencyKey: randomUUID() };
    const answer = await client.call<{ clientSecret: string }>('POST', `${path}/payment-methods`, body);
    if (!answer.isOk) throw refused('a setup', answer);
    const [setupIntentId = ''] = answer.body.clientSecret.split('_secret_');
    this.#note('setups', customer.id, setupIntentId, customer.processorCustomerId);
    const payment_method = this.#pick(savedCards) ?? '';
    const order = { payment_method, return_url: 'https://shop.example.com/done' };
    const confirmed = await stripe.setupIntents.confirm(setupIntentId, order).catch(() => undefined);
    if (confirmed?.status !== 'succeeded') return;
    const paymentMethodId = String(confirmed.payment_method);
    const chosen = await client.call('PUT', `${path}/default-payment-method`, { paymentMethodId });
    if (!chosen.isOk) throw refused('a default', chosen);
    const charged = await this.#addPayment({ customerId: customer.id, paymentMethodId, offSession: true });
    if (charged.status === 'succeeded') this.#remember(this.#paid, charged);
    else if (payment_method === 'pm_card_visa') throw new Error(`${charged.id} is ${charged.status}`);
    if (this.#random() < 0.5) return;
    const removed = await client.call('DELETE', `${path}/payment-methods/${paymentMethodId}`);
    // The answer to an earlier try may have been lost.
    if (!removed.isOk && removed.status !== 404) throw refused('removing a card', removed);
  }

  async #addPlan(): Promise<Plan> {
    const name = `Plan ${this.#ledger.nextNumber()}`;
    const body = { name, amount: 900, currency: 'eur', interval: 'month' };
    const answer = await this.#ledger.client.call<Plan>('POST', 'plans', body, randomUUID());
    if (!answer.isOk) throw refused('a plan', answer);
    this.#note('plans', answer.body.id, answer.body.processorPriceId, name);
    return answer.body;
  }

  async #unsubscribe(): Promise<void> {
    const subscription = this.#subscriptions.shift();
    if (subscription === undefined) return;
    const answer = await this.#ledger.client.call('DELETE', `subscriptions/${subscription.id}`);
    if (!answer.isOk) throw refused('ending a subscription', answer);
  }

  async #rename({ id }: Customer): Promise<void> {
    const name = `Ada ${this.#ledger.nextNumber()}`;
    // With a key, so that a repeated request resumes its claim.
    const change = { name, idempotencyKey: `rename-${id}-${name.replace(' ', '-')}` };
    const answer = await this.#ledger.client.call<{ name: string }>('PATCH', `customers/${id}`, change);
    if (!answer.isOk) throw refused('a new name', answer);
  }

  async #read(customer: Customer): Promise<void> {
    const payment = this.#pick(this.#payments);
    const path = payment === undefined ? `customers/${customer.id}` : `payments/${payment.id}`;
    const answer = await this.#ledger.client.call<{ id: string }>('GET', path);
    // What was acknowledged can be read from then on, by whatever process is asked.
    if (answer.body.id !== (payment ?? customer).id) throw refused(`reading ${path}`, answer);
  }

  async #list({ id }: Customer): Promise<void> {
    const paths = [
      'payments?limit=20',
      `payments?customerId=${id}`,
      'customers?page=2',
      'invoices',
      'subscriptions',
    ];
    const answer = await this.#ledger.client.call('GET', this.#pick(paths) ?? 'plans');
    if (!answer.isOk) throw refused('a list', answer);
  }

  #note(kind: MadeKind, id: string, processorId: string, mark: string): void {
    this.#ledger.made.push({ kind, id, processorId, mark });
  }

  #remember<T>(things: T[], thing: T): void {
    things.push(thing);
    if (things.length > rememberedMax) things.shift();
  }

  #pick<T>(things: readonly T[]): T | undefined {
    return things[Math.floor(this.#random() * things.length)];
  }
}

function refused(what: string, answer: { readonly status: number; readonly body: unknown }): Error {
  return new Error(`${what} was refused with ${answer.status}: ${JSON.stringify(answer.body)}`);
}
