import { randomUUID } from 'node:crypto';
import type { Random } from '#runtime/seed/random.ts';
import type { CreatedKind, Ledger } from './load.ts';

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

/** How many of its own objects a shopper uses again. Older ones are not used any more. */
const rememberedMax = 20;

const disputedCards = ['pm_card_createDispute', 'pm_card_createDisputeInquiry'];
/** The processor's test values: the bank decides for the merchant, against them, or not yet. */
const evidence = ['winning_evidence', 'losing_evidence', 'escalate_inquiry_evidence', 'other'];
/** The second can be saved, and is then declined. */
const savedCards = ['pm_card_visa', 'pm_card_chargeCustomerFail'];

/**
 * One client of the load, with customers, a plan and payments of its own. Each creation carries a mark that identifies
 * the processor's object: an email, a name or an amount that is used once, a customer that subscribes or saves a card
 * once, a payment that is refunded once.
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
    const response = await client.call<Customer>('POST', 'customers', body, randomUUID());
    if (!response.isOk) throw refused('a customer', response);
    this.#note('customers', response.body.id, response.body.processorCustomerId, email);
    this.#remember(this.#customers, response.body);
    return response.body;
  }

  async #pay({ id }: Customer): Promise<void> {
    const payment = await this.#addPayment({ customerId: id });
    const status = await this.#confirm(payment.processorPaymentIntentId);
    if (status === 'succeeded') this.#remember(this.#paid, payment);
  }

  /** The dispute comes after the response, so that refunds may meet it. */
  async #payAndDispute({ id }: Customer): Promise<void> {
    const payment = await this.#addPayment({ customerId: id });
    const intentId = payment.processorPaymentIntentId;
    const status = await this.#confirm(intentId, this.#pick(disputedCards));
    if (status !== 'succeeded') return;
    this.#remember(this.#paid, payment);
    const uncategorized_text = this.#pick(evidence) ?? '';
    const { disputes } = this.#ledger.stripe;
    // A refusal of the processor here does not concern Till.
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
    const response = await this.#ledger.client.call<{ amountReceived: number }>('POST', path, body);
    if (!response.isOk || response.body.amountReceived !== amount) throw refused('a capture', response);
    this.#note('captures', payment.id, intentId, `${intentId} ${amount}`);
    this.#remember(this.#paid, payment);
  }

  async #payAndCancel({ id }: Customer): Promise<void> {
    await this.#cancel(await this.#addPayment({ customerId: id }));
  }

  async #cancel({ id }: Payment): Promise<void> {
    const response = await this.#ledger.client.call('POST', `payments/${id}/cancel`);
    if (!response.isOk) throw refused('canceling an unpaid payment', response);
  }

  async #addPayment(values: {
    readonly customerId: string;
    readonly captureMethod?: 'manual';
    readonly paymentMethodId?: string;
    readonly offSession?: true;
  }): Promise<Payment> {
    const amount = this.#ledger.nextNumber();
    const body = { ...values, amount, currency: 'eur', idempotencyKey: randomUUID() };
    const response = await this.#ledger.client.call<{ payment: Payment }>('POST', 'payments', body);
    if (!response.isOk) throw refused('a payment', response);
    const { payment } = response.body;
    this.#note('payments', payment.id, payment.processorPaymentIntentId, String(amount));
    this.#remember(this.#payments, payment);
    return payment;
  }

  /** What the frontend does. A failure of the processor here does not concern Till. */
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
    const response = await this.#ledger.client.call<{ refund: { id: string; processorRefundId: string } }>(
      'POST',
      path,
      body,
    );
    // The payment may be disputed.
    if (!response.isOk && response.code === 'payment_not_refundable') return;
    if (!response.isOk) throw refused('a refund', response);
    const { id, processorRefundId } = response.body.refund;
    this.#note('refunds', id, processorRefundId, payment.processorPaymentIntentId);
  }

  async #subscribe(): Promise<void> {
    this.#plan ??= await this.#addPlan();
    const customer = await this.#addCustomer();
    if (customer === undefined) return;
    const body = { customerId: customer.id, planId: this.#plan.id, idempotencyKey: randomUUID() };
    const response = await this.#ledger.client.call<{ subscription: Subscription; clientSecret: string }>(
      'POST',
      'subscriptions',
      body,
    );
    if (!response.isOk) throw refused('a subscription', response);
    const { subscription, clientSecret } = response.body;
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
    const response = await client.call<{ clientSecret: string }>('POST', `${path}/payment-methods`, body);
    if (!response.isOk) throw refused('a setup', response);
    const [setupIntentId = ''] = response.body.clientSecret.split('_secret_');
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
    // The response to an earlier attempt may have been lost.
    if (!removed.isOk && removed.status !== 404) throw refused('removing a card', removed);
  }

  async #addPlan(): Promise<Plan> {
    const name = `Plan ${this.#ledger.nextNumber()}`;
    const body = { name, amount: 900, currency: 'eur', interval: 'month' };
    const response = await this.#ledger.client.call<Plan>('POST', 'plans', body, randomUUID());
    if (!response.isOk) throw refused('a plan', response);
    this.#note('plans', response.body.id, response.body.processorPriceId, name);
    return response.body;
  }

  async #unsubscribe(): Promise<void> {
    const subscription = this.#subscriptions.shift();
    if (subscription === undefined) return;
    const response = await this.#ledger.client.call('DELETE', `subscriptions/${subscription.id}`);
    if (!response.isOk) throw refused('ending a subscription', response);
  }

  async #rename({ id }: Customer): Promise<void> {
    const name = `Ada ${this.#ledger.nextNumber()}`;
    // With an idempotency key, so that a repeated request resumes its claim.
    const change = { name, idempotencyKey: `rename-${id}-${name.replace(' ', '-')}` };
    const response = await this.#ledger.client.call<{ name: string }>('PATCH', `customers/${id}`, change);
    if (!response.isOk) throw refused('a new name', response);
  }

  async #read(customer: Customer): Promise<void> {
    const payment = this.#pick(this.#payments);
    const path = payment === undefined ? `customers/${customer.id}` : `payments/${payment.id}`;
    const response = await this.#ledger.client.call<{ id: string }>('GET', path);
    // What was acknowledged can be read from then on, from any process.
    if (response.body.id !== (payment ?? customer).id) throw refused(`reading ${path}`, response);
  }

  async #list({ id }: Customer): Promise<void> {
    const paths = [
      'payments?limit=20',
      `payments?customerId=${id}`,
      'customers?page=2',
      'invoices',
      'subscriptions',
    ];
    const response = await this.#ledger.client.call('GET', this.#pick(paths) ?? 'plans');
    if (!response.isOk) throw refused('a list', response);
  }

  #note(kind: CreatedKind, id: string, processorId: string, mark: string): void {
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

function refused(what: string, response: { readonly status: number; readonly body: unknown }): Error {
  return new Error(`${what} was refused with ${response.status}: ${JSON.stringify(response.body)}`);
}
