import type { Plan } from '#core/model/plan.ts';
import type { Subscription } from '#core/model/subscription.ts';
import type { CheckoutService } from '#features/checkouts/checkout-service.ts';
import type { CustomerService } from '#features/customers/customer-service.ts';
import type { PaymentService } from '#features/payments/payment-service.ts';
import type { RefundService } from '#features/payments/refund-service.ts';
import type { PlanService } from '#features/plans/plan-service.ts';
import type { SubscriptionService } from '#features/subscriptions/subscription-service.ts';
import { type DemoPlan, demoPlans } from './catalogue.ts';
import type { Shopper } from './shopper.ts';
import type { Action } from './story.ts';

type Payment = Awaited<ReturnType<PaymentService['read']>>;

interface PerformerParts {
  readonly services: {
    readonly customers: CustomerService;
    readonly plans: PlanService;
    readonly payments: PaymentService;
    readonly refunds: RefundService;
    readonly subscriptions: SubscriptionService;
    readonly checkouts: Pick<CheckoutService, 'expireOfCustomer'>;
  };
  readonly shopper: Shopper;
}

/** Customers need a moment to enter their cards. */
type Afterwards = (() => Promise<void>) | undefined;

/** A customer of the story, as Till and the processor know it. */
interface Customer {
  readonly id: string;
  readonly processorCustomerId: string;
  subscriptionId: string | null;
  hasLeft: boolean;
}

/** Performs the actions of a story: through the services of the API, and as the customers themselves. */
export class Performer {
  readonly #parts: PerformerParts;
  readonly #plans = new Map<DemoPlan, Plan>();
  readonly #customers = new Map<number, Customer>();

  constructor(parts: PerformerParts) {
    this.#parts = parts;
  }

  /** Returns the customer's next action, a moment later. Undefined if there is none. */
  async perform(action: Action): Promise<Afterwards> {
    const { plans } = this.#parts.services;
    if (action.do === 'create plan') {
      this.#plans.set(action.plan, (await plans.create(demoPlans[action.plan], undefined)).result);
    } else if (action.do === 'archive plan') {
      await plans.archive(this.#plan(action.plan).id);
    } else if (action.do === 'sign up') {
      await this.#signUp(action);
    } else {
      const customer = this.#customers.get(action.customer);
      // Nothing happens to a customer who was deleted.
      if (customer !== undefined && !customer.hasLeft) return this.#performFor(customer, action);
    }
    return undefined;
  }

  async #signUp({
    customer,
    name,
    email,
    phone,
    externalId,
  }: Extract<Action, { do: 'sign up' }>): Promise<void> {
    const { result } = await this.#parts.services.customers.create(
      { name, email, phone, externalId },
      undefined,
    );
    const { id, processorCustomerId } = result.customer;
    this.#customers.set(customer, { id, processorCustomerId, subscriptionId: null, hasLeft: false });
  }

  async #performFor(customer: Customer, action: Action): Promise<Afterwards> {
    if (action.do === 'subscribe') return this.#subscribe(customer, action);
    if (action.do === 'buy') return this.#buy(customer, action);
    if (action.do === 'refund') await this.#refund(customer, action.part);
    else if (action.do === 'defend') await this.#defend(customer, action.evidence);
    else if (action.do === 'leave') await this.#leave(customer);
    else {
      const subscription = await this.#openSubscription(customer);
      if (subscription !== undefined) await this.#treat(customer, subscription, action);
    }
    return undefined;
  }

  async #subscribe(customer: Customer, action: Extract<Action, { do: 'subscribe' }>): Promise<Afterwards> {
    const { services, shopper } = this.#parts;
    const { plan, quantity, addOn, trialDays: trialPeriodDays, card } = action;
    const { result } = await services.subscriptions.create(
      {
        customerId: customer.id,
        planId: this.#plan(plan).id,
        quantity,
        ...(addOn === null ? {} : { addOns: [{ planId: this.#plan(addOn).id, quantity: 1 }] }),
        trialPeriodDays,
        ...(card === null ? { trialEndWithoutCard: 'cancel' as const } : {}),
      },
      undefined,
    );
    customer.subscriptionId = result.subscription.id;
    const secret = result.clientSecret ?? result.setupClientSecret;
    return secret === null || card === null ? undefined : () => shopper.confirm(secret, card);
  }

  async #buy(
    customer: Customer,
    { amount, currency, description, cards }: Extract<Action, { do: 'buy' }>,
  ): Promise<Afterwards> {
    const { services, shopper } = this.#parts;
    const order = { customerId: customer.id, amount, currency, description };
    const { clientSecret } = (await services.payments.create(order, undefined)).result;
    return async () => {
      for (const card of cards) if (clientSecret !== null) await shopper.confirm(clientSecret, card);
    };
  }

  /** Refunds a part of the newest payment. */
  async #refund(customer: Customer, part: number): Promise<void> {
    const payment = await this.#newestPayment(
      customer,
      (one) => one.status === 'succeeded' && one.dispute === null,
    );
    if (payment === undefined) return;
    const amount = Math.floor((payment.amountReceived - payment.amountRefunded) * part);
    if (amount < 1) return;
    const reason = 'requested_by_customer';
    await this.#parts.services.refunds.create({ paymentId: payment.id, amount, reason }, undefined);
  }

  async #defend(customer: Customer, evidence: string): Promise<void> {
    const payment = await this.#newestPayment(
      customer,
      ({ dispute }) => dispute?.status === 'needs_response',
    );
    if (payment?.dispute != null)
      await this.#parts.shopper.defend(payment.dispute.processorDisputeId, evidence);
  }

  async #leave(customer: Customer): Promise<void> {
    const { customers, subscriptions, checkouts } = this.#parts.services;
    customer.hasLeft = true;
    await customers.delete(customer.id, {
      expireCheckouts: (id) => checkouts.expireOfCustomer(id),
      correctSubscriptions: (id) => subscriptions.correctOfCustomer(id),
    });
  }

  async #treat(customer: Customer, subscription: Subscription, action: Action): Promise<void> {
    const {
      services: { subscriptions },
      shopper,
    } = this.#parts;
    const { id, processorSubscriptionId } = subscription;
    if (action.do === 'change') {
      const { plan, quantity, when } = action;
      const terms = {
        ...(plan === undefined ? {} : { planId: this.#plan(plan).id }),
        ...(quantity === undefined ? {} : { quantity }),
      };
      const change =
        when === 'now'
          ? { kind: 'now' as const, proration: 'nextInvoice' as const, ...terms }
          : { kind: 'periodEnd' as const, ...terms };
      if (subscription.status === 'active') await subscriptions.update(id, change, undefined);
    } else if (action.do === 'cancel' && action.when === 'now') await subscriptions.cancel(id);
    else if (action.do === 'cancel' && subscription.pendingChange === null)
      await subscriptions.update(id, { kind: 'settings', cancelAtPeriodEnd: true }, undefined);
    else if (action.do === 'lose card')
      await shopper.useCard(
        customer.processorCustomerId,
        processorSubscriptionId,
        'pm_card_chargeCustomerFail',
      );
    else if (action.do === 'bring card') {
      const card = await shopper.useCard(
        customer.processorCustomerId,
        processorSubscriptionId,
        'pm_card_visa',
      );
      if (subscription.status === 'past_due')
        await subscriptions.pay(id, { paymentMethodId: card }, undefined);
    }
  }

  async #openSubscription({ subscriptionId }: Customer): Promise<Subscription | undefined> {
    if (subscriptionId === null) return undefined;
    const subscription = await this.#parts.services.subscriptions.read(subscriptionId);
    return ['active', 'trialing', 'past_due'].includes(subscription.status) ? subscription : undefined;
  }

  async #newestPayment(
    { id }: Customer,
    isWanted: (payment: Payment) => boolean,
  ): Promise<Payment | undefined> {
    const filters = { customerId: id, source: 'all' };
    const { data } = await this.#parts.services.payments.list({ limit: 20, filters });
    return data.find(isWanted);
  }

  #plan(name: DemoPlan): Plan {
    const plan = this.#plans.get(name);
    if (plan === undefined) throw new Error(`the plan ${name} was not created`);
    return plan;
  }
}
