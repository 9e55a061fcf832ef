import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { Failure, invalidRequest } from '#core/errors.ts';
import { checkoutStatuses } from '#core/model/checkout.ts';
import { isRoundAmount, roundAmountMistake } from '#core/model/format-amount.ts';
import { Type } from '#core/platform/schemas.ts';
import { grants } from '#http/access/api-guard.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { body, CustomerIdFilter, response } from '#http/docs/api-schema.ts';
import { OpenReaders } from '#http/load/open-readers.ts';
import { registerListRoute } from '#http/read-routes.ts';
import type { CheckoutPage } from '#processor/port/checkout-calls.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { parseAddOns } from '../subscriptions/add-ons.ts';
import { planFailures } from '../subscriptions/changes/subscription-patch-schema.ts';
import type { Buyer, NewCheckoutRequest, OpenedCheckout } from './checkout-creation.ts';
import { CheckoutSchema, checkoutExample, checkoutView } from './checkout-fields.ts';
import { CheckoutBody, OpenedCheckoutSchema, openedExample } from './checkout-schema.ts';
import type { CheckoutService } from './checkout-service.ts';

/** Part of the API contract. Proxies usually wait for a minute. */
const waitSecondsMax = 30;
/** The same as for readers of events: each holds a socket while it waits. */
const waitingMax = 1_000;
const retryAfterSeconds = 5;

const Query = Type.Object(
  {
    waitSeconds: Type.Integer({
      minimum: 0,
      maximum: waitSecondsMax,
      default: 0,
      description: 'The maximum time to wait while the checkout is open.',
    }),
  },
  { additionalProperties: false },
);

const path = '/api/v1/checkouts';

export function registerCheckoutRoutes(
  app: FastifyInstance,
  checkouts: CheckoutService,
  customers: CustomerService,
): void {
  const routes = new ApiRoutes(app, 'checkouts');
  addWrites(routes, checkouts);
  registerListRoute(app, {
    path,
    tag: 'checkouts',
    plural: 'checkouts',
    operationId: 'listCheckouts',
    summary: 'List checkouts, newest first',
    schema: CheckoutSchema,
    example: checkoutExample,
    filters: { customerId: CustomerIdFilter, status: Type.Optional(Type.Enum([...checkoutStatuses])) },
    customers: { customerIdOf: ({ customerId }) => customerId, find: (ids) => customers.summaries(ids) },
    list: (request) => checkouts.list(request),
    toResponse: checkoutView,
  });
  const waiting = new OpenReaders({ max: waitingMax });
  app.addHook('preClose', async () => waiting.end());
  routes.add(`GET ${path}/:id`, {
    scope: 'read',
    operationId: 'getCheckout',
    summary: 'Get one of the checkouts',
    description:
      'An open checkout is first compared with the processor, so that the page to which the buyer returns can rely on it: ' +
      'if it is `completed`, the subscription, the entitlements and the payment are up to date.',
    query: Query,
    response: { 200: response('The checkout and the URL of its page.', OpenedCheckoutSchema, openedExample) },
    callsProcessor: true,
    run: async (request, reply) => {
      const { params, query } = request;
      const opened = await checkouts.get(params.id);
      const isOver = opened.checkout.status !== 'open' || query.waitSeconds === 0 || waiting.isEnding;
      if (isOver) return toResponse(opened, request);
      const { signal } = admit(waiting, request, reply).controller;
      return toResponse(await checkouts.waitForEnd(opened, query.waitSeconds * 1_000, signal), request);
    },
  });
}

function admit(waiting: OpenReaders, request: FastifyRequest, reply: FastifyReply) {
  const reader = waiting.admit(request, reply);
  if (reader === undefined)
    throw new Failure(
      'overloaded',
      'This process serves the maximum number of waiting requests. Retry later, or start another process.',
      { retryAfterSeconds },
    );
  request.server.openRequests.leave(reply);
  return reader;
}

/** The URL lets anyone pay for the customer, so only an API key that could create the checkout gets it. */
function toResponse(
  { checkout, url }: OpenedCheckout,
  { caller }: Pick<FastifyRequest, 'caller'>,
): Static<typeof OpenedCheckoutSchema> {
  const mayOpen = caller !== undefined && grants(caller.scopes, 'write');
  return { checkout: checkoutView(checkout), url: mayOpen ? url : null };
}

function addWrites(routes: ApiRoutes, checkouts: CheckoutService): void {
  routes.addKeyed(`POST ${path}`, {
    scope: 'write',
    operationId: 'createCheckout',
    summary: 'Create a checkout',
    description:
      'A page of the processor on which the buyer subscribes (`planId`), pays once (`payment`) or saves a card ' +
      '(`saveCard`): send exactly one of the three. Send the buyer to `url`. An open checkout to a plan of the same group ' +
      'is returned if it has the same terms, and expired otherwise. A plan without a group is a group of its own, unless it ' +
      'is `repeatable`.',
    body: body(CheckoutBody, {
      customer: { externalId: 'user-1815', email: 'ada@example.com', name: 'Ada Lovelace' },
      planId: '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
      successUrl: 'https://shop.example.com/welcome?checkout={CHECKOUT_ID}',
      cancelUrl: 'https://shop.example.com/prices',
    }),
    response: {
      200: response(
        'An open checkout with the same terms, and the URL of its page.',
        OpenedCheckoutSchema,
        openedExample,
      ),
      201: response('The new checkout and the URL of its page.', OpenedCheckoutSchema, openedExample),
    },
    failures: [
      'not_found',
      ...planFailures,
      'already_subscribed',
      'checkout_in_progress',
      'promotion_code_invalid',
    ],
    callsProcessor: true,
    run: (request, key) => checkouts.create(buyerOf(request.body), newCheckoutOf(request.body), key),
    toResponse: ({ checkout, url, isExisting }, _replayed, reply) => {
      reply.code(isExisting ? 200 : 201);
      return { checkout: checkoutView(checkout), url };
    },
  });
  routes.add(`POST ${path}/:id/expire`, {
    scope: 'write',
    operationId: 'expireCheckout',
    summary: 'Expire an open checkout',
    description: 'The buyer can no longer complete it. An expired checkout stays as it is.',
    response: {
      200: response('The expired checkout.', OpenedCheckoutSchema, {
        checkout: { ...checkoutExample, status: 'expired' },
        url: null,
      }),
    },
    failures: ['checkout_completed', 'checkout_in_progress'],
    callsProcessor: true,
    run: async ({ params }) => ({ checkout: checkoutView(await checkouts.expire(params.id)), url: null }),
  });
}

type Body = Static<typeof CheckoutBody>;

function buyerOf({ customerId, customer }: Body): Buyer {
  if (customerId !== undefined && customer === undefined) return { customerId };
  if (customer === undefined || customerId !== undefined)
    throw invalidRequest('body.customerId', 'or body.customer is required, and not both');
  const { externalId, email, name = null } = customer;
  return { customer: { externalId, email, name } };
}

/** A request that sends a default value is the same request as one that leaves it out. */
function newCheckoutOf(body: Body): Omit<NewCheckoutRequest, 'customerId' | 'buyer'> {
  const { metadata } = body;
  return { sold: soldOf(body), page: pageOf(body), ...(metadata === undefined ? {} : { metadata }) };
}

/** The fields that only a subscription has, with the values that are filled in if they are absent. */
const subscriptionFields: { readonly [Field in keyof Body]?: unknown } = {
  quantity: 1,
  addOns: undefined,
  trialPeriodDays: undefined,
  trialOnce: false,
  trialEndWithoutCard: undefined,
  promotionCode: undefined,
  allowPromotionCodes: false,
};

function soldOf(body: Body): NewCheckoutRequest['sold'] {
  const { planId, payment, saveCard } = body;
  const sold = [planId, payment, saveCard].filter((one) => one !== undefined);
  if (sold.length !== 1)
    throw invalidRequest('body.planId', 'or body.payment or body.saveCard is required, and only one of them');
  if (planId !== undefined) return soldSubscriptionOf(body, planId);
  for (const [field, absent] of Object.entries(subscriptionFields))
    if (body[field as keyof Body] !== absent)
      throw invalidRequest(`body.${field}`, 'is only allowed with planId');
  if (payment === undefined) return { mode: 'setup' };
  if (!isRoundAmount(payment.amount, payment.currency))
    throw invalidRequest('body.payment.amount', roundAmountMistake);
  return {
    mode: 'payment',
    amount: payment.amount,
    currency: payment.currency.toLowerCase(),
    description: payment.description,
    ...(payment.savePaymentMethod ? { savePaymentMethod: true } : {}),
    ...(payment.captureMethod === 'manual' ? { captureMethod: 'manual' } : {}),
  };
}

function soldSubscriptionOf(body: Body, planId: string): NewCheckoutRequest['sold'] {
  const { quantity = 1, addOns = [], trialPeriodDays = 0, trialEndWithoutCard, promotionCode } = body;
  if (promotionCode !== undefined && body.allowPromotionCodes)
    throw invalidRequest('body.allowPromotionCodes', 'must not be combined with promotionCode');
  return {
    mode: 'subscription',
    planId,
    quantity,
    addOns: parseAddOns(addOns, planId),
    trialPeriodDays,
    ...(body.trialOnce ? { trialOnce: true } : {}),
    ...(trialEndWithoutCard === undefined ? {} : { trialEndWithoutCard }),
    ...(promotionCode === undefined ? {} : { promotionCode }),
    ...(body.allowPromotionCodes ? { allowPromotionCodes: true } : {}),
  };
}

function pageOf(body: Body): CheckoutPage {
  const { successUrl, cancelUrl, expiresAt, locale } = body;
  return {
    successUrl,
    cancelUrl,
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt) }),
    ...(locale === undefined ? {} : { locale }),
    ...(body.collectBillingAddress ? { collectBillingAddress: true } : {}),
    ...(body.collectTaxId ? { collectTaxId: true } : {}),
    ...(body.automaticTax ? { automaticTax: true } : {}),
  };
}
