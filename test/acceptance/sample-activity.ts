import assert from 'node:assert/strict';
import type { TestProcessor } from '../support/backend.ts';
import { type Client, type Method, readSuccess } from '../support/client.ts';
import {
  type CustomerBody,
  confirmSecret,
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  type PlanBody,
} from '../support/objects.ts';
import { createPromotionCode } from '../support/promotion-codes.ts';

/**
 * A client of Till, and people at the processor's dashboard, who create, change, cancel and delete some of everything.
 */
export class SampleActivity {
  readonly deleted: CustomerBody[] = [];
  readonly #till: Client & Pick<TestProcessor, 'stripe'>;
  readonly #name: string;
  #count = 0;
  #plan: PlanBody | undefined;
  /** A customer that the second round deletes. */
  #condemned: CustomerBody | undefined;
  /** What the first round created. */
  #first:
    | {
        readonly customer: CustomerBody;
        readonly paymentId: string;
        readonly openPaymentId: string;
        readonly subscriptionId: string;
      }
    | undefined;

  constructor(till: Client & Pick<TestProcessor, 'stripe'>, index: number) {
    this.#till = till;
    this.#name = `activity-${index}`;
  }

  async begin(): Promise<void> {
    this.#plan = await this.#createPlan();
    this.#condemned = await this.#createBuyer(this.#plan);
  }

  /** Creates some of everything. The plan of an earlier round is used again. */
  async createSome(): Promise<void> {
    const till = this.#till;
    const plan = this.#plan ?? (await this.#createPlan());
    const buyer = await this.#createBuyer(plan);
    const customerId = buyer.id;
    await this.#createBuyer(await this.#createPlan());
    const archived = await this.#createPlan();
    await till.post(`/plans/${archived.id}/archive`);
    const canceled = await createPayment(till, { customerId });
    await till.post(`/payments/${canceled.id}/cancel`);
    await this.#createCustomer();
    await this.#delete(await this.#createBuyer(plan));
    await till.stripe.subscriptions.create({
      customer: buyer.processorCustomerId,
      items: [{ price: plan.processorPriceId }],
      trial_period_days: 7,
    });
    if (this.#first !== undefined) return;
    this.#first = {
      customer: buyer,
      paymentId: (await createPaidPayment(till, { customerId })).id,
      openPaymentId: (await createPayment(till, { customerId })).id,
      subscriptionId: await this.#subscribe(buyer, plan),
    };
  }

  /** Changes what the first round created, so that an earlier backup holds an older state. */
  async changeEarlier(): Promise<void> {
    assert(this.#first !== undefined && this.#condemned !== undefined);
    const { customer, paymentId, openPaymentId, subscriptionId } = this.#first;
    await this.#till.post(`/payments/${paymentId}/refund`, { amount: 300 });
    await this.#till.post(`/payments/${openPaymentId}/cancel`);
    await this.#send('DELETE', `/subscriptions/${subscriptionId}`);
    await this.#send('PATCH', `/customers/${customer.id}`, { name: 'Renamed' });
    const change = { features: { seats: 9, support: 'phone' }, group: this.#name };
    await this.#send('PATCH', `/plans/${this.#plan?.id}`, change);
    for (const path of [`/payments/${paymentId}`, `/subscriptions/${subscriptionId}`])
      await this.#send('PATCH', path, { metadata: { changed: 'later' } });
    await createPaidPayment(this.#till, { customerId: customer.id });
    await this.#delete(this.#condemned);
  }

  async #createBuyer(plan: PlanBody): Promise<CustomerBody> {
    const customer = await this.#createCustomer();
    const payment = await createPaidPayment(this.#till, { customerId: customer.id });
    await this.#send('PATCH', `/payments/${payment.id}`, { metadata: { buyer: this.#name } });
    await this.#till.post(`/payments/${payment.id}/refund`, { amount: 500 });
    await this.#till.stripe.refunds.create({ payment_intent: payment.processorPaymentIntentId, amount: 100 });
    await this.#subscribe(customer, plan);
    return customer;
  }

  #createCustomer(): Promise<CustomerBody> {
    this.#count += 1;
    return createCustomer(this.#till, { email: `${this.#name}-${this.#count}@example.com` });
  }

  #createPlan(): Promise<PlanBody> {
    return createPlan(this.#till, {
      name: `${this.#name} plan`,
      intervalCount: 2,
      features: { seats: 5, sso: true },
    });
  }

  async #subscribe({ id: customerId }: CustomerBody, { id: planId }: PlanBody): Promise<string> {
    const { code: promotionCode } = await createPromotionCode(this.#till);
    const { subscription, clientSecret } = await createSubscription(this.#till, {
      ...{ customerId, planId, quantity: 2, promotionCode, trialEndWithoutCard: 'cancel' },
    });
    await this.#send('PATCH', `/subscriptions/${subscription.id}`, { metadata: { buyer: this.#name } });
    await confirmSecret(this.#till, clientSecret);
    return subscription.id;
  }

  async #delete(customer: CustomerBody): Promise<void> {
    await this.#send('DELETE', `/customers/${customer.id}`);
    this.deleted.push(customer);
  }

  async #send(method: Method, path: string, body?: object): Promise<void> {
    await readSuccess(await this.#till.call(method, path, body));
  }
}
