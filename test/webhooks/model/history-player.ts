import { randomUUID } from 'node:crypto';
import { Stripe } from 'stripe';
import type { TestProcessor } from '../../support/backend.ts';
import { listAll } from '../../support/checks/mirrors.ts';
import type { Reading } from '../../support/checks/staleness.ts';
import { mainItemTruth } from '../../support/checks/subscription-truth.ts';
import type { Method } from '../../support/client.ts';
import { confirmIntent, createMeteredPrice, intentOf } from '../../support/objects.ts';
import { createPromotionCode } from '../../support/promotion-codes.ts';
import type { ApiClient } from './api-client.ts';
import { type CheckoutCommand, CheckoutPlayer } from './checkout-player.ts';
import { changeTerms, type TermCommand } from './term-changes.ts';
import { addOnsCount, type Card, type Command, type DisputeResponse, type Reason } from './world.ts';

interface PaymentResponse {
  readonly payment: { readonly id: string; readonly processorPaymentIntentId: string };
}

interface SubscriptionResponse {
  readonly subscription: { readonly id: string; readonly processorSubscriptionId: string };
  readonly clientSecret: string | null;
  readonly setupClientSecret: string | null;
}

interface PlanResponse {
  readonly id: string;
  readonly processorProductId: string;
  readonly processorPriceId: string;
}

interface CreatedPayment {
  readonly id: string;
  readonly intentId: string;
  readonly amount: number;
  /** The request that created it, with its idempotency key. */
  readonly order: object;
}

interface CreatedSubscription {
  readonly id: string;
  readonly processorId: string;
  /** The payment intent of the first invoice; null where a trial leaves nothing to confirm. */
  readonly intentId: string | null;
  /** The request that created it, with its idempotency key. */
  readonly order: object;
  readonly interval: string;
}

type SubscriptionCommand =
  | 'subscribe'
  | 'refund charge'
  | 'repeat subscription'
  | 'confirm subscription'
  | 'spoil card'
  | 'cancel subscription'
  | 'end with period'
  | 'new card'
  | 'change plan'
  | 'annotate subscription'
  | 'close invoice'
  | 'pay subscription'
  | TermCommand['what'];

/** Plays one history: Till's part through its API, the processor's part through the official client. */
export class HistoryPlayer {
  readonly #till: ApiClient;
  readonly #processor: TestProcessor;
  readonly #payments: CreatedPayment[] = [];
  readonly #subscriptions: CreatedSubscription[] = [];
  readonly #plans: PlanResponse[] = [];
  /** The add-ons of each interval. */
  readonly #addOns = new Map<string, readonly PlanResponse[]>();
  #meter: string | undefined;
  readonly #readings: Reading[] = [];
  readonly #checkouts: CheckoutPlayer;
  #customer = { id: '', processorCustomerId: '' };

  constructor(till: ApiClient, processor: TestProcessor) {
    this.#till = till;
    this.#processor = processor;
    this.#checkouts = new CheckoutPlayer(till, processor);
  }

  get customerId(): string {
    return this.#customer.id;
  }

  get processorCustomerId(): string {
    return this.#customer.processorCustomerId;
  }

  get paymentIntentIds(): readonly string[] {
    return [...this.#payments.map(({ intentId }) => intentId), ...this.#checkouts.paymentIntentIds];
  }

  /** What Till's own calls have shown it so far. */
  get readings(): readonly Reading[] {
    return this.#readings;
  }

  async begin(): Promise<void> {
    // With an idempotency key: a kill after the processor created it must not leave a second customer.
    const body = { email: 'model@example.com', name: 'Model', idempotencyKey: randomUUID() };
    this.#customer = (await this.#till.call('POST', 'customers', body)) ?? this.#customer;
  }

  async play(command: Command): Promise<void> {
    try {
      await this.#play(command);
    } catch (error) {
      // A declined card or a forbidden change is part of the history.
      if (error instanceof Stripe.errors.StripeCardError) return;
      if (error instanceof Stripe.errors.StripeInvalidRequestError) return;
      throw error;
    }
  }

  #play(command: Command): Promise<unknown> {
    switch (command.what) {
      case 'pay':
        return this.#pay({ amount: command.amount }, command.card);
      case 'authorise':
        return this.#pay({ amount: command.amount, captureMethod: 'manual' }, command.card);
      case 'charge saved card':
        return this.#chargeSavedCard(command.amount, command.card);
      case 'capture':
        return this.#withPayment(command.which, (payment) =>
          this.#capture(payment, command.whole, command.by === 'till'),
        );
      case 'repeat payment':
        return this.#withPayment(command.which, ({ intentId, order }) =>
          this.#read([intentId], 'POST', 'payments', order),
        );
      case 'confirm payment':
        return this.#withPayment(command.which, ({ intentId }) => this.#confirm(intentId, command.card));
      case 'authenticate':
        return this.#withPayment(command.which, ({ intentId }) =>
          this.#authenticate(intentId, command.succeeds),
        );
      case 'cancel payment':
        return this.#withPayment(command.which, ({ id, intentId }) =>
          command.by === 'till'
            ? this.#change([intentId], 'POST', `payments/${id}/cancel`)
            : this.#processor.stripe.paymentIntents.cancel(intentId),
        );
      case 'refund':
        return this.#withPayment(command.which, (payment) =>
          this.#refund(payment, command.whole, command.by === 'till'),
        );
      case 'respond to dispute':
        return this.#withPayment(command.which, ({ intentId }) =>
          this.#respondToDispute(intentId, command.how),
        );
      case 'annotate payment':
        // Only by Till: the processor sends no event for it.
        return this.#withPayment(command.which, ({ id, intentId }) =>
          this.#read([intentId], 'PATCH', `payments/${id}`, annotation(command.note)),
        );
      case 'pay elsewhere':
        return this.#payElsewhere(command.amount);
      case 'update customer':
      case 'delete customer':
        return this.#playCustomer(command);
      case 'rename plan':
      case 'archive plan':
      case 'revive plan':
        return this.#playPlan(command);
      case 'open checkout':
        return this.#openCheckout(command);
      case 'repeat checkout':
      case 'complete checkout':
      case 'read checkout':
      case 'expire checkout':
      case 'capture checkout':
        return this.#checkouts.play(command, this.#customer);
      default:
        return this.#playSubscription(command);
    }
  }

  #playCustomer(command: Extract<Command, { what: 'update customer' | 'delete customer' }>) {
    const { id, processorCustomerId } = this.#customer;
    const { customers } = this.#processor.stripe;
    if (command.what === 'delete customer') {
      const removing =
        command.by === 'till'
          ? this.#change([processorCustomerId], 'DELETE', `customers/${id}`)
          : customers.del(processorCustomerId);
      const opening = this.#checkouts.open({ amount: 1, percent: null }, this.#customer, { saveCard: true });
      return Promise.all([removing, opening, ...this.#annotateAll()]);
    }
    const { name } = command;
    // Several customers want the same few external ids, and some are refused.
    const externalId = name.startsWith('a') ? null : `user:${name.charCodeAt(0)}`;
    return command.by === 'till'
      ? this.#change([processorCustomerId], 'PATCH', `customers/${id}`, {
          ...{ name, externalId, metadata: { till: name, both: null } },
          idempotencyKey: randomUUID(),
        })
      : customers.update(processorCustomerId, {
          ...{ name, phone: '+4912345', metadata: { both: name, theirs: name } },
        });
  }

  /** Changes of the metadata of what belongs to a customer. They meet its deletion, and so does a checkout. */
  #annotateAll(): readonly Promise<unknown>[] {
    return [
      ...this.#payments.map((payment) =>
        this.#read([payment.intentId], 'PATCH', `payments/${payment.id}`, annotation('met')),
      ),
      ...this.#subscriptions.map((one) =>
        this.#read([one.processorId], 'PATCH', `subscriptions/${one.id}`, annotation('met')),
      ),
    ];
  }

  async #playPlan(command: Extract<Command, { what: 'rename plan' | 'archive plan' | 'revive plan' }>) {
    const plan = pick(this.#plans, command.which);
    if (plan === undefined) return;
    const { stripe } = this.#processor;
    if (command.what === 'rename plan') {
      const { name } = command;
      const [change, theirs] = [{ name, metadata: { theirs: name } }, { till_group: name }];
      const features = { name, length: name.length };
      const repeatable = name.length % 2 === 0;
      if (name.startsWith('a'))
        await this.#change([plan.processorProductId, plan.processorPriceId], 'PATCH', `plans/${plan.id}`, {
          ...{ ...change, features, group: name, repeatable },
        });
      else {
        await stripe.products.update(plan.processorProductId, {
          ...change,
          metadata: { ...change.metadata, ...theirs, till_features_1: JSON.stringify(features) },
        });
        await stripe.prices.update(plan.processorPriceId, {
          metadata: { till_repeatable: String(repeatable) },
        });
      }
    } else if (command.what === 'archive plan' && command.by === 'till') {
      const ids = [plan.processorProductId, plan.processorPriceId];
      await this.#change(ids, 'POST', `plans/${plan.id}/archive`);
    } else {
      const active = command.what === 'revive plan';
      await stripe.prices.update(plan.processorPriceId, { active });
      if (active) await stripe.products.update(plan.processorProductId, { active });
    }
  }

  async #playSubscription(command: Extract<Command, { what: SubscriptionCommand }>): Promise<unknown> {
    if (command.what === 'subscribe') return this.#subscribe(command);
    const subscription = pick(this.#subscriptions, command.which);
    if (subscription === undefined) return;
    const { id, processorId, intentId, order } = subscription;
    const { stripe } = this.#processor;
    switch (command.what) {
      case 'refund charge':
        return this.#refundCharge(subscription, command);
      case 'repeat subscription':
        return this.#read([processorId], 'POST', 'subscriptions', order);
      case 'confirm subscription':
        return intentId === null ? undefined : this.#confirm(intentId, command.card);
      case 'spoil card':
        return this.#spoilCard(processorId);
      case 'cancel subscription':
        return command.by === 'till'
          ? this.#change([processorId], 'DELETE', `subscriptions/${id}`, reasonOf(command))
          : stripe.subscriptions.cancel(processorId, detailsOf(command));
      case 'end with period':
        return command.by === 'till'
          ? this.#patch(subscription, {
              cancelAtPeriodEnd: command.ends,
              ...(command.ends ? reasonOf(command) : {}),
            })
          : // A comment without a cancellation is not shown.
            stripe.subscriptions.update(processorId, {
              cancel_at_period_end: command.ends,
              ...detailsOf(command),
            });
      case 'new card':
        return this.#setCard(subscription, command.of);
      case 'change plan':
        return command.by === 'till'
          ? this.#changeNow(subscription, command)
          : this.#changePlan(processorId, command.plan);
      case 'annotate subscription':
        // The same note again is not a change, and sends no event.
        return command.by === 'till'
          ? this.#read([processorId], 'PATCH', `subscriptions/${id}`, annotation(command.note))
          : stripe.subscriptions.update(processorId, { metadata: { theirs: command.note, both: '' } });
      case 'pay subscription':
        return this.#paySubscription(subscription, command.card);
      case 'close invoice':
        return this.#closeInvoice(processorId, command.how);
      default:
        if (command.what === 'schedule' && command.by === 'till') return this.#plan(subscription, command);
        if (command.what === 'change add-ons' && command.by === 'till')
          return this.#changeAddOns(subscription, command);
        return changeTerms(
          stripe,
          {
            id: processorId,
            customer: this.#customer.processorCustomerId,
            price: pick(this.#plans, planOf(command))?.processorPriceId,
            addOns: (this.#addOns.get(subscription.interval) ?? []).map((plan) => plan.processorPriceId),
            meter: await this.#readMeter(),
          },
          command,
        );
    }
  }

  async #pay(values: { readonly amount: number; readonly captureMethod?: 'manual' }, card: Card | null) {
    const intentId = await this.#order({ ...values, description: 'Order' }, values.amount);
    if (card !== null && intentId !== undefined) await this.#confirm(intentId, card);
  }

  async #chargeSavedCard(amount: number, card: Card): Promise<void> {
    const customer = this.#customer.processorCustomerId;
    const { id } = await this.#processor.stripe.paymentMethods.attach(card, { customer });
    await this.#order({ amount, paymentMethodId: id, offSession: true }, amount);
  }

  /** The payment intent, or undefined if the current state forbids the payment. */
  async #order(values: object, amount: number): Promise<string | undefined> {
    const order = { customerId: this.#customer.id, currency: 'eur', idempotencyKey: randomUUID(), ...values };
    const created = await this.#till.call<PaymentResponse>('POST', 'payments', order);
    if (created === undefined) return undefined;
    const { id, processorPaymentIntentId: intentId } = created.payment;
    this.#payments.push({ id, intentId, amount, order });
    return intentId;
  }

  async #capture({ id, intentId, amount }: CreatedPayment, whole: boolean, byTill: boolean): Promise<void> {
    const part = Math.ceil(amount / 3);
    if (byTill) {
      const body = { ...(whole ? {} : { amount: part }), idempotencyKey: randomUUID() };
      await this.#change([intentId], 'POST', `payments/${id}/capture`, body);
      return;
    }
    const values = { ...(whole ? {} : { amount_to_capture: part }), metadata: { theirs: String(part) } };
    await this.#processor.stripe.paymentIntents.capture(intentId, values);
  }

  async #confirm(intentId: string, card: Card): Promise<void> {
    await confirmIntent(this.#processor, intentId, card);
  }

  async #authenticate(intentId: string, succeeds: boolean): Promise<void> {
    const result = succeeds ? 'succeeded' : 'failed';
    const { stripe, control } = this.#processor;
    const { data } = await stripe.paymentIntents.list({ customer: this.#customer.processorCustomerId });
    const isWaiting = data.some(({ id, status }) => id === intentId && status === 'requires_action');
    if (isWaiting) await control(`payment_intents/${intentId}/authenticate`, { result });
  }

  async #refund({ id, intentId, amount }: CreatedPayment, whole: boolean, byTill: boolean): Promise<void> {
    const part = whole ? {} : { amount: Math.ceil(amount / 3) };
    if (byTill)
      await this.#till.call('POST', `payments/${id}/refund`, { ...part, idempotencyKey: randomUUID() });
    else await this.#processor.stripe.refunds.create({ payment_intent: intentId, ...part });
  }

  async #respondToDispute(intentId: string, how: DisputeResponse): Promise<void> {
    const { disputes, events } = this.#processor.stripe;
    // Faults are injected into the list of disputes.
    const opened = await listAll(events.list({ type: 'charge.dispute.created', limit: 100 }));
    const dispute = opened
      .map(({ data: { object } }) => object)
      .find((object) => object.object === 'dispute' && object.payment_intent === intentId);
    if (dispute?.object !== 'dispute') return;
    if (how === 'accept') await disputes.close(dispute.id);
    else await disputes.update(dispute.id, { evidence: { uncategorized_text: how } });
  }

  /** A payment of the customer that was not created through Till. */
  async #payElsewhere(amount: number): Promise<void> {
    await this.#processor.stripe.paymentIntents.create({
      customer: this.#customer.processorCustomerId,
      amount,
      currency: 'usd',
      payment_method: 'pm_card_visa',
      confirm: true,
      return_url: 'https://shop.example.com/done',
    });
  }

  async #openCheckout(command: Extract<CheckoutCommand, { what: 'open checkout' }>): Promise<void> {
    const { sells, amount, quantity, trialDays } = command;
    const payment = { amount, currency: 'eur', description: 'Order' };
    if (sells === 'card') return this.#checkouts.open(command, this.#customer, { saveCard: true });
    if (sells === 'payment') return this.#checkouts.open(command, this.#customer, { payment });
    if (sells === 'authorisation')
      return this.#checkouts.open(command, this.#customer, {
        payment: { ...payment, captureMethod: 'manual' },
      });
    const group = sells === 'plan of group' ? { group: this.#customer.id } : {};
    const plan = await this.#createPlan({ amount, interval: 'week', ...group });
    if (plan === undefined) return;
    const addOns = this.#listed('week', command.addOns);
    return this.#checkouts.open(command, this.#customer, {
      ...{ planId: plan.id, quantity, trialPeriodDays: trialDays, trialOnce: true },
      ...(addOns.length === 0 ? {} : { addOns }),
    });
  }

  /** A plan, with add-ons of its interval beside it. */
  async #createPlan(values: { readonly amount: number; readonly interval: string; readonly group?: string }) {
    const { interval } = values;
    const body = { name: 'Plan', currency: 'eur', ...values };
    const plan = await this.#till.call<PlanResponse>('POST', 'plans', body);
    if (plan === undefined) return undefined;
    this.#plans.push(plan);
    if (!this.#addOns.has(interval)) this.#addOns.set(interval, await this.#createAddOns(interval));
    return plan;
  }

  async #subscribe(command: Extract<Command, { what: 'subscribe' }>): Promise<void> {
    const { interval, amount, trialDays, card, savesCard, quantity, percent, atTrialEnd } = command;
    // Some join the group in which the customer may have an open checkout.
    const group = amount % 4 === 0 ? { group: this.#customer.id } : {};
    const plan = await this.#createPlan({ amount, interval, ...group });
    if (plan === undefined) return;
    const addOns = this.#listed(interval, command.addOns);
    const customer = this.#customer.processorCustomerId;
    const { paymentMethods } = this.#processor.stripe;
    const saved = savesCard && card !== null ? await paymentMethods.attach(card, { customer }) : null;
    const duration = amount % 2 === 0 ? 'forever' : 'once';
    const promotion =
      percent === null
        ? null
        : await createPromotionCode(this.#processor, { customer }, { percent_off: percent, duration });
    const order = {
      customerId: this.#customer.id,
      planId: plan.id,
      trialPeriodDays: trialDays,
      quantity,
      ...(addOns.length === 0 ? {} : { addOns }),
      trialEndWithoutCard: atTrialEnd,
      ...(saved === null ? {} : { paymentMethodId: saved.id }),
      ...(promotion === null ? {} : { promotionCode: promotion.code }),
      idempotencyKey: randomUUID(),
    };
    const created = await this.#till.call<SubscriptionResponse>('POST', 'subscriptions', order);
    if (created === undefined) return;
    const { id, processorSubscriptionId: processorId } = created.subscription;
    const intentId = created.clientSecret?.split('_secret_')[0] ?? null;
    this.#subscriptions.push({ id, processorId, intentId, order, interval });
    if (card === null || saved !== null) return;
    if (intentId !== null) await this.#confirm(intentId, card);
    if (created.setupClientSecret === null) return;
    await this.#processor.stripe.setupIntents.confirm(intentOf(created.setupClientSecret), {
      payment_method: card,
      return_url: 'https://shop.example.com/done',
    });
  }

  /** Refunds the newest payment of the subscription: one that Till knows, or one that the processor knows. */
  async #refundCharge(
    { id, processorId }: CreatedSubscription,
    { whole, by }: Extract<Command, { what: 'refund charge' }>,
  ): Promise<void> {
    const part = whole ? {} : { amount: 40 };
    if (by === 'till') {
      const found = await this.#till.call<{ data: readonly { id: string }[] }>(
        'GET',
        `payments?subscriptionId=${id}&limit=1`,
      );
      const payment = found?.data[0];
      const body = { ...part, idempotencyKey: randomUUID() };
      if (payment !== undefined) await this.#till.call('POST', `payments/${payment.id}/refund`, body);
      return;
    }
    const { invoices, refunds } = this.#processor.stripe;
    const { data } = await invoices.list({
      ...{ subscription: processorId, status: 'paid', limit: 1, expand: ['data.payments'] },
    });
    const paid = data[0]?.payments?.data.find(({ status }) => status === 'paid');
    const intent = paid?.payment.payment_intent;
    if (typeof intent === 'string') await refunds.create({ payment_intent: intent, ...part });
  }

  async #changeNow(
    subscription: CreatedSubscription,
    { plan, proration }: Extract<Command, { what: 'change plan' }>,
  ): Promise<void> {
    const planId = pick(this.#plans, plan)?.id;
    if (planId !== undefined) await this.#patch(subscription, { planId, proration });
  }

  async #createAddOns(interval: string): Promise<readonly PlanResponse[]> {
    const created: PlanResponse[] = [];
    for (let index = 0; index < addOnsCount; index += 1) {
      const body = {
        name: `Add-on ${index}`,
        amount: 300 + 100 * index,
        currency: 'eur',
        interval,
        addOn: true,
      };
      const plan = await this.#till.call<PlanResponse>('POST', 'plans', body);
      if (plan !== undefined) created.push(plan);
    }
    return created;
  }

  #listed(interval: string, quantities: readonly number[]): readonly object[] {
    return (this.#addOns.get(interval) ?? []).flatMap(({ id: planId }, index) => {
      const quantity = quantities[index] ?? 0;
      return quantity === 0 ? [] : [{ planId, quantity }];
    });
  }

  #changeAddOns(
    subscription: CreatedSubscription,
    { quantities, when, proration }: Extract<Command, { what: 'change add-ons' }>,
  ): Promise<void> {
    const addOns = this.#listed(subscription.interval, quantities);
    return this.#patch(subscription, { addOns, when, proration });
  }

  async #readMeter(): Promise<string> {
    this.#meter ??= await createMeteredPrice(this.#processor);
    return this.#meter;
  }

  /** A change at the end of the period. */
  async #plan(
    subscription: CreatedSubscription,
    { plan, quantity }: Extract<Command, { what: 'schedule' }>,
  ): Promise<void> {
    const planId = pick(this.#plans, plan)?.id;
    await this.#patch(subscription, {
      ...{ quantity, when: 'periodEnd' },
      ...(planId === undefined ? {} : { planId }),
    });
  }

  async #setCard(subscription: CreatedSubscription, of: 'customer' | 'subscription'): Promise<void> {
    const { id, processorCustomerId: customer } = this.#customer;
    const { id: card } = await this.#processor.stripe.paymentMethods.attach('pm_card_mastercard', {
      customer,
    });
    const body = { paymentMethodId: card };
    if (of === 'subscription') await this.#patch(subscription, body);
    else await this.#till.call('PUT', `customers/${id}/default-payment-method`, body);
  }

  #patch({ id, processorId }: CreatedSubscription, change: object): Promise<void> {
    const body = { ...change, idempotencyKey: randomUUID() };
    return this.#read([processorId], 'PATCH', `subscriptions/${id}`, body);
  }

  /** From now on renewals are declined. */
  async #spoilCard(processorId: string): Promise<void> {
    const { stripe } = this.#processor;
    const customer = this.#customer.processorCustomerId;
    const { id } = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer });
    await stripe.subscriptions.update(processorId, { default_payment_method: id });
  }

  async #changePlan(processorId: string, which: number): Promise<void> {
    const plan = pick(this.#plans, which);
    const { stripe } = this.#processor;
    const { data } = await stripe.subscriptions.list({
      customer: this.#customer.processorCustomerId,
      status: 'all',
    });
    const subscription = data.find(({ id }) => id === processorId);
    const item = subscription && mainItemTruth(subscription);
    if (plan === undefined || item === undefined) return;
    await stripe.subscriptions.update(processorId, {
      items: [{ id: item.id, price: plan.processorPriceId }],
      proration_behavior: 'none',
    });
  }

  async #paySubscription({ id, processorId }: CreatedSubscription, card: Card): Promise<void> {
    const customer = this.#customer.processorCustomerId;
    const { id: paymentMethodId } = await this.#processor.stripe.paymentMethods.attach(card, { customer });
    const body = { paymentMethodId, idempotencyKey: randomUUID() };
    await this.#read([processorId], 'POST', `subscriptions/${id}/pay`, body);
  }

  async #closeInvoice(subscription: string, how: 'void' | 'uncollectible' | 'pay'): Promise<void> {
    const { invoices } = this.#processor.stripe;
    const { data } = await invoices.list({ subscription });
    const id = data.find(({ status }) => status === 'open' || status === 'uncollectible')?.id;
    if (id === undefined) return;
    if (how === 'void') await invoices.voidInvoice(id);
    else if (how === 'uncollectible') await invoices.markUncollectible(id);
    else await invoices.pay(id, { paid_out_of_band: true });
  }

  /** A call that changes these objects at the processor. */
  #change(objectIds: readonly string[], method: Method, path: string, body?: object): Promise<void> {
    return this.#call({ objectIds, isChange: true }, method, path, body);
  }

  /** A call for which Till reads these objects from the processor. */
  #read(objectIds: readonly string[], method: Method, path: string, body?: object): Promise<void> {
    return this.#call({ objectIds, isChange: false }, method, path, body);
  }

  async #call(
    { objectIds, isChange }: { readonly objectIds: readonly string[]; readonly isChange: boolean },
    method: Method,
    path: string,
    body?: object,
  ): Promise<void> {
    const { data } = await this.#processor.stripe.events.list({ limit: 1 });
    const response = await this.#till.call(method, path, body);
    const eventId = data[0]?.id;
    if (response === undefined || eventId === undefined) return;
    this.#readings.push(...objectIds.map((objectId) => ({ objectId, eventId, isChange })));
  }

  async #withPayment(which: number, act: (payment: CreatedPayment) => Promise<unknown>): Promise<void> {
    const payment = pick(this.#payments, which);
    if (payment !== undefined) await act(payment);
  }
}

/** The plan that a command is about. */
function planOf(command: TermCommand): number {
  return command.what === 'schedule' ? command.plan : command.which;
}

/** A change of metadata: one name that only Till's client sets, and one that is also set at the processor. */
function annotation(note: string): object {
  return { metadata: { till: note, both: note }, idempotencyKey: randomUUID() };
}

function reasonOf({ why }: { readonly why: Reason }): { readonly cancellationReason?: string } {
  return why === null ? {} : { cancellationReason: why };
}

function detailsOf({ why }: { readonly why: Reason }) {
  return why === null ? {} : { cancellation_details: { comment: why } };
}

function pick<T>(created: readonly T[], which: number): T | undefined {
  return created[which % Math.max(created.length, 1)];
}
