import { randomUUID } from 'node:crypto';
import { Failure, invalidRequest, isDefiniteRefusal, isKeyUsedUp, notFound } from '#core/errors.ts';
import type { Customer } from '#core/model/customer.ts';
import { refuseReturnUrls } from '#core/model/return-url.ts';
import { pendingChange, refuseCancellation, type Subscription } from '#core/model/subscription.ts';
import { shareConcurrent } from '#core/platform/share-concurrent.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import type { NewPortalSession, PortalCalls, PortalFlow } from '#processor/port/portal-calls.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import type { SubscriptionService } from '../subscriptions/subscription-service.ts';

export const portalFlows = ['paymentMethod', 'cancel'] as const;
export type PortalFlowName = (typeof portalFlows)[number];

interface PortalSessionRequest {
  readonly returnUrl: string;
  readonly flow?: PortalFlowName | null;
  /** Sent with the flow `cancel`, and only with it. */
  readonly subscriptionId?: string;
  readonly locale?: string;
  readonly processorConfigurationId?: string;
}

type Session = Omit<NewPortalSession, 'idempotencyKey' | 'processorConfigurationId'>;

/** Sends customers to the processor's portal. Nothing is stored: changes that they make there arrive as webhooks. */
export class PortalService {
  readonly #context: MirrorContext;
  readonly #customers: CustomerService;
  readonly #subscriptions: SubscriptionService;
  /** If empty, every origin is allowed. */
  readonly #returnUrlOrigins: readonly string[];
  readonly #configuration: TillPortalConfiguration;

  constructor(
    context: MirrorContext,
    customers: CustomerService,
    subscriptions: SubscriptionService,
    returnUrlOrigins: readonly string[],
  ) {
    this.#context = context;
    this.#customers = customers;
    this.#subscriptions = subscriptions;
    this.#returnUrlOrigins = returnUrlOrigins;
    this.#configuration = new TillPortalConfiguration(context.processor.portal);
  }

  /** Returns the URL of a new session. */
  async createSession(customerId: string, request: PortalSessionRequest): Promise<string> {
    const { returnUrl, locale, processorConfigurationId } = request;
    refuseReturnUrls({ returnUrl }, this.#returnUrlOrigins);
    refuseOtherSubscriptionId(request);
    const customer = await this.#customers.read(customerId);
    const session: Session = {
      processorCustomerId: customer.processorCustomerId,
      returnUrl,
      ...(await this.#flowOf(customer, request)),
      ...(locale === undefined ? {} : { locale }),
    };
    try {
      return await this.#create(session, processorConfigurationId);
    } catch (error) {
      if (isDefiniteRefusal(error)) await this.#explainRefusal(customer, request);
      throw await this.#customers.explainRefusal(error, customerId);
    }
  }

  async #create(session: Session, givenConfigurationId: string | undefined): Promise<string> {
    const id = givenConfigurationId ?? (await this.#configuration.id());
    try {
      return await this.#createWith(id, session);
    } catch (error) {
      if (!isDefiniteRefusal(error) || givenConfigurationId !== undefined) throw error;
      // An operator may have deactivated the configuration since it was found.
      const current = await this.#configuration.findAgain();
      if (current === id) throw error;
      return this.#createWith(current, session);
    }
  }

  #createWith(processorConfigurationId: string, session: Session): Promise<string> {
    // A new processor key each time, because a session changes nothing.
    const write = { processorConfigurationId, idempotencyKey: randomUUID() };
    return this.#context.processor.portal.createSession({ ...session, ...write });
  }

  async #flowOf(
    customer: Customer,
    { flow, subscriptionId }: PortalSessionRequest,
  ): Promise<{ readonly flow?: PortalFlow }> {
    if (flow === 'paymentMethod') return { flow: { kind: flow } };
    // After a plan has changed at the end of a period, the portal could not cancel the subscription.
    const ending = this.#subscriptions.endSpentPlannings(customer);
    if (subscriptionId === undefined) {
      // Even if this subscription cannot be canceled now, the customer can use the rest of the portal.
      await ending.catch(ignoreBusy);
      return {};
    }
    const planned = await ending;
    const { processorSubscriptionId } = await this.#readToCancel(customer, subscriptionId);
    if (planned.includes(processorSubscriptionId)) throw pendingChange();
    return { flow: { kind: 'cancel', processorSubscriptionId } };
  }

  /** Fails if the subscription cannot be canceled at the end of its period. */
  async #readToCancel(customer: Customer, subscriptionId: string): Promise<Subscription> {
    const subscription = await this.#subscriptions.read(subscriptionId);
    if (subscription.customerId !== customer.id) throw notFound('subscription');
    refuseCancellation(subscription);
    return subscription;
  }

  /** The row may be behind: the webhook that explains the refusal may not have arrived yet. */
  async #explainRefusal(customer: Customer, { subscriptionId }: PortalSessionRequest): Promise<void> {
    if (subscriptionId === undefined) return;
    await this.#subscriptions.askForAll(customer.id);
    await this.#readToCancel(customer, subscriptionId);
  }
}

function refuseOtherSubscriptionId({ flow, subscriptionId }: PortalSessionRequest): void {
  if ((flow === 'cancel') === (subscriptionId !== undefined)) return;
  const message =
    flow === 'cancel' ? 'is required with the flow cancel' : 'must be sent only with the flow cancel';
  throw invalidRequest('body.subscriptionId', message);
}

function ignoreBusy(error: unknown): void {
  if (!(error instanceof Failure && error.code === 'subscription_busy')) throw error;
}

/** How many processor keys may repeat a failure. Each failure of the processor uses up one of them for a day. */
const usedUpMax = 10;

/** The id of the portal configuration that Till creates once for each account. */
class TillPortalConfiguration {
  readonly #calls: PortalCalls;
  readonly #findOrCreate = shareConcurrent(() => this.#look());
  #id: string | undefined;

  constructor(calls: PortalCalls) {
    this.#calls = calls;
  }

  async id(): Promise<string> {
    return this.#id ?? this.findAgain();
  }

  async findAgain(): Promise<string> {
    this.#id = await this.#findOrCreate();
    return this.#id;
  }

  /**
   * Processes that find no configuration at the same time create it under the same processor key, so they create one. A
   * deactivated configuration is replaced under another processor key, because the processor repeats its response for a
   * day. The same holds after a failure that it repeats. The two counts are separate parts of the key: the response
   * under `1` is that of the second configuration, and never that of the first one, which was created under `0-1`.
   */
  async #look(usedUp = 0): Promise<string> {
    const own = await this.#calls.listConfigurations();
    const found = own.find(({ isActive }) => isActive);
    if (found !== undefined) return found.processorConfigurationId;
    const suffix = usedUp === 0 ? '' : `-${usedUp}`;
    const idempotencyKey = `till-portal-configuration-${own.length}${suffix}`;
    try {
      return (await this.#calls.createConfiguration({ idempotencyKey })).processorConfigurationId;
    } catch (error) {
      if (!isKeyUsedUp(error) || usedUp >= usedUpMax) throw error;
      return this.#look(usedUp + 1);
    }
  }
}
