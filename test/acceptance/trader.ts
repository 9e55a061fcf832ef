import assert from 'node:assert/strict';
import type { Stripe } from 'stripe';

export interface Customer {
  readonly id: string;
  readonly processorCustomerId: string;
  readonly email: string;
}

interface Plan {
  readonly id: string;
  readonly processorPriceId: string;
}

interface Shop {
  readonly ask: (path: string, init?: RequestInit) => Promise<Response>;
  readonly stripe: Stripe;
}

/** A client of Till that makes, changes, cancels and deletes some of everything, and people at the processor's dashboard. */
export class Trader {
  readonly deleted: Customer[] = [];
  readonly #shop: Shop;
  readonly #name: string;
  #count = 0;
  /** What the first round made. */
  #customer: Customer | undefined;
  #paymentId = '';
  #openPaymentId = '';
  #subscriptionId = '';
  #condemned: Customer | undefined;
  #plan: Plan | undefined;

  constructor(shop: Shop, index: number) {
    this.#shop = shop;
    this.#name = `trader-${index}`;
  }

  async open(): Promise<void> {
    this.#plan = await this.#newPlan();
    this.#condemned = await this.#newBuyer(this.#plan);
  }

  /** Some of everything; the plan of an earlier round is used again. */
  async trade(): Promise<void> {
    const plan = this.#plan ?? (await this.#newPlan());
    const buyer = await this.#newBuyer(plan);
    await this.#newBuyer(await this.#newPlan());
    const archived = await this.#newPlan();
    await this.#post(`/plans/${archived.id}/archive`);
    const canceled = await this.#newPayment(buyer);
    await this.#post(`/payments/${canceled.id}/cancel`);
    await this.#newCustomer();
    await this.#delete(await this.#newBuyer(plan));
    await this.#shop.stripe.subscriptions.create({
      customer: buyer.processorCustomerId,
      items: [{ price: plan.processorPriceId }],
      trial_period_days: 7,
    });
    if (this.#customer !== undefined) return;
    this.#customer = buyer;
    this.#paymentId = (await this.#newPaidPayment(buyer)).id;
    this.#openPaymentId = (await this.#newPayment(buyer)).id;
    this.#subscriptionId = await this.#subscribe(buyer, plan);
  }

  /** What the first round left, and the backup therefore holds in an older state. */
  async changeWhatWasThere(): Promise<void> {
    assert(this.#customer !== undefined && this.#condemned !== undefined);
    await this.#post(`/payments/${this.#paymentId}/refund`, { amount: 300 });
    await this.#post(`/payments/${this.#openPaymentId}/cancel`);
    await this.#send('DELETE', `/subscriptions/${this.#subscriptionId}`);
    await this.#send('PATCH', `/customers/${this.#customer.id}`, { name: 'Renamed' });
    await this.#newPaidPayment(this.#customer);
    await this.#delete(this.#condemned);
  }

  async #newBuyer(plan: Plan): Promise<Customer> {
    const customer = await this.#newCustomer();
    const payment = await this.#newPaidPayment(customer);
    await this.#post(`/payments/${payment.id}/refund`, { amount: 500 });
    await this.#shop.stripe.refunds.create({ payment_intent: payment.processorPaymentIntentId, amount: 100 });
    await this.#subscribe(customer, plan);
    return customer;
  }

  #newCustomer(): Promise<Customer> {
    this.#count += 1;
    return this.#post('/customers', { email: `${this.#name}-${this.#count}@example.com`, name: 'Ada' });
  }

  #newPlan(): Promise<Plan> {
    return this.#post('/plans', {
      name: `${this.#name} plan`,
      amount: 900,
      currency: 'eur',
      interval: 'month',
    });
  }

  async #newPayment({ id: customerId }: Customer) {
    const order = { customerId, amount: 2000, currency: 'eur' };
    type Answer = { payment: { id: string; processorPaymentIntentId: string } };
    return (await this.#post<Answer>('/payments', order)).payment;
  }

  async #newPaidPayment(customer: Customer) {
    const payment = await this.#newPayment(customer);
    await this.#confirm(payment.processorPaymentIntentId);
    return payment;
  }

  async #subscribe({ id: customerId }: Customer, { id: planId }: Plan): Promise<string> {
    const { subscription, clientSecret } = await this.#post<{
      subscription: { id: string };
      clientSecret: string;
    }>('/subscriptions', { customerId, planId });
    await this.#confirm(clientSecret.slice(0, clientSecret.indexOf('_secret_')));
    return subscription.id;
  }

  async #delete(customer: Customer): Promise<void> {
    await this.#send('DELETE', `/customers/${customer.id}`);
    this.deleted.push(customer);
  }

  async #confirm(intentId: string): Promise<void> {
    await this.#shop.stripe.paymentIntents.confirm(intentId, {
      payment_method: 'pm_card_visa',
      return_url: 'https://shop.example.com/done',
    });
  }

  #post<Answer>(path: string, body: object = {}): Promise<Answer> {
    return this.#send('POST', path, body);
  }

  async #send<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const response = await this.#shop.ask(path, {
      method,
      // Fastify refuses an empty body that claims to be JSON.
      ...(body === undefined
        ? { headers: { 'content-type': 'text/plain' } }
        : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text === '' ? 'null' : text);
  }
}
