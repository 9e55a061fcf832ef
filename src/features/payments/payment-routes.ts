import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { invalidRequest } from '#core/errors.ts';
import type { FilterValues } from '#core/model/list-request.ts';
import { paymentSources, paymentStatuses } from '#core/model/payment.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import {
  amountOf,
  body,
  ChangedMetadata,
  ClientSecretSchema,
  Currency,
  CurrencyFilter,
  CustomerIdFilter,
  clientSecretExample,
  Id,
  IdempotencyKey,
  methodIdOf,
  NewMetadata,
  nullable,
  response,
} from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { inCurrency, optionalBody } from '#http/input/validator.ts';
import { registerReadRoutes } from '#http/read-routes.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import type { NewPaymentRequest } from './payment-creation.ts';
import { PaymentSchema, paymentExample, paymentView } from './payment-fields.ts';
import type { PaymentService } from './payment-service.ts';

/** The API's limit. It is enough for a sentence, and the processor accepts it. */
const descriptionLengthMax = 500;

const CreateBody = Type.Object(
  {
    customerId: Id,
    amount: { ...amountOf('In the smallest unit of the currency.'), [inCurrency]: 'currency' },
    currency: Currency,
    description: Type.Optional(Type.String({ minLength: 1, maxLength: descriptionLengthMax })),
    captureMethod: Type.Optional(
      Type.Enum(['automatic', 'manual'], {
        default: 'automatic',
        description: '`manual`: the payment is only authorised, and you capture it later.',
      }),
    ),
    paymentMethodId: Type.Optional(methodIdOf("The processor's id of a payment method of this customer.")),
    offSession: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Charge `paymentMethodId` at once, without the customer. If the charge is declined, the status is ' +
          '`requires_payment_method`. If it needs authentication, the status is `requires_action`.',
      }),
    ),
    savePaymentMethod: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Save the payment method that the customer pays with. Not together with `offSession`.',
      }),
    ),
    metadata: Type.Optional(NewMetadata),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  { title: 'NewPayment', additionalProperties: false },
);

const CreatedSchema = component('CreatedPayment', {
  payment: PaymentSchema,
  clientSecret: nullable(
    Type.String({
      description:
        'The frontend uses it to confirm the payment with the processor. Till never stores it: ' +
        'request it again with `POST /api/v1/payments/{id}/client-secret`.',
    }),
  ),
});

const AmountFilter = (description: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: `${description} In the smallest unit of \`currency\`, which is required with it.`,
    }),
  );

/** The same number means another amount in another currency. */
function requireCurrency({ amountMin, amountMax, currency }: FilterValues): void {
  if (currency === undefined && (amountMin !== undefined || amountMax !== undefined))
    throw invalidRequest('query.currency', 'is required with amountMin and amountMax');
}

/** A filter that has one value. */
const isTrue = (description: string) => Type.Optional(Type.Enum(['true'], { description }));

const path = '/api/v1/payments';

export function registerPaymentRoutes(
  app: FastifyInstance,
  payments: PaymentService,
  customers: CustomerService,
): void {
  const routes = new ApiRoutes(app, 'payments');
  registerWrites(routes, payments);
  registerReadRoutes(app, {
    noun: 'payment',
    plural: 'payments',
    schema: PaymentSchema,
    example: paymentExample,
    filters: {
      customerId: CustomerIdFilter,
      status: Type.Optional(Type.Enum([...paymentStatuses])),
      currency: CurrencyFilter,
      failed: isTrue('Return only payments whose last attempt failed, and which have not succeeded since.'),
      failureCode: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          pattern: '^[^\\s\\p{C}]+$',
          description:
            'Return only failed payments whose `failure` has this `code` or this `declineCode`, such as ' +
            '`insufficient_funds`.',
        }),
      ),
      refunded: Type.Optional(
        Type.Enum(['true', 'none', 'partial', 'full'], {
          description:
            'Return only payments of which nothing (`none`), a part (`partial`), everything (`full`), or a part or ' +
            'everything (`true`) was refunded.',
        }),
      ),
      disputed: isTrue('Return only payments that were disputed at any time.'),
      disputeStatus: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 100,
          pattern: '^[a-z_]+(,[a-z_]+)*$',
          description:
            'Return only payments whose newest dispute has this status, such as `needs_response`, or one of several, ' +
            'separated by commas.',
        }),
      ),
      amountMin: AmountFilter('Return only payments of at least this amount.'),
      amountMax: AmountFilter('Return only payments of at most this amount.'),
      subscriptionId: Type.Optional(Id),
      invoiceId: Type.Optional({ ...Id, description: 'Return only the payments of this invoice.' }),
      source: Type.Optional(
        Type.Enum([...paymentSources], {
          description:
            '`subscription`: the payments of subscriptions. `all`: these and the payments created with `POST /api/v1/payments`. ' +
            'Default: only the latter; with `subscriptionId` or `invoiceId`, all.',
        }),
      ),
    },
    check: requireCurrency,
    amounts: ['amount'],
    customers: { customerIdOf: ({ customerId }) => customerId, find: (ids) => customers.summaries(ids) },
    list: (request) => payments.list(request),
    read: (id) => payments.read(id),
    toResponse: paymentView,
  });
  registerUpdate(routes, payments);
  registerCapture(routes, payments);
}

function registerWrites(routes: ApiRoutes, payments: PaymentService): void {
  routes.addKeyed(`POST ${path}`, {
    scope: 'write',
    operationId: 'createPayment',
    summary: 'Create a payment',
    description: 'Pass `clientSecret` to the frontend, which confirms the payment with the processor.',
    body: body(CreateBody, {
      customerId: paymentExample.customerId,
      amount: 2_000,
      currency: 'eur',
      description: 'Order 1234',
      metadata: { orderId: '1234' },
    }),
    response: {
      201: response('The new payment and its client secret.', CreatedSchema, {
        payment: paymentExample,
        clientSecret: 'pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_YrKJUKribcBjcG8HVhfZluoGH',
      }),
    },
    failures: ['not_found'],
    callsProcessor: true,
    run: (request, key) => payments.create(newPaymentOf(request.body), key),
    toResponse: ({ payment, clientSecret }) => ({ payment: paymentView(payment), clientSecret }),
  });
  routes.add(`POST ${path}/:id/cancel`, {
    scope: 'write',
    operationId: 'cancelPayment',
    summary: 'Cancel a payment that has not succeeded',
    response: {
      200: response('The canceled payment.', PaymentSchema, { ...paymentExample, status: 'canceled' }),
    },
    failures: ['payment_not_cancelable', 'checkout_in_progress'],
    callsProcessor: true,
    run: async ({ params }) => paymentView(await payments.cancel(params.id)),
  });
}

/**
 * Requests that differ only in the case of the currency, or in a default value that is left out, are the same request.
 */
function newPaymentOf(body: Static<typeof CreateBody>): NewPaymentRequest {
  const { customerId, amount, currency, description, paymentMethodId, metadata } = body;
  if (body.offSession && paymentMethodId === undefined)
    throw invalidRequest('body.paymentMethodId', 'is required with offSession');
  if (body.offSession && body.savePaymentMethod)
    throw invalidRequest('body.savePaymentMethod', 'must not be combined with offSession');
  return {
    customerId,
    amount,
    currency: currency.toLowerCase(),
    ...(description === undefined ? {} : { description }),
    ...(body.captureMethod === 'manual' ? { captureMethod: 'manual' } : {}),
    ...(paymentMethodId === undefined ? {} : { paymentMethodId }),
    ...(body.offSession ? { offSession: true } : {}),
    ...(body.savePaymentMethod ? { savePaymentMethod: true } : {}),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

const UpdateBody = Type.Object(
  { metadata: Type.Optional(ChangedMetadata), idempotencyKey: Type.Optional(IdempotencyKey) },
  {
    title: 'PaymentChange',
    additionalProperties: false,
    description: 'Fields that you leave out keep their value.',
  },
);

function registerUpdate(routes: ApiRoutes, payments: PaymentService): void {
  routes.addKeyed(`PATCH ${path}/:id`, {
    scope: 'write',
    operationId: 'updatePayment',
    summary: 'Update a payment',
    description: 'You can change the metadata of a payment in every status.',
    body: body(UpdateBody, { metadata: { invoiceNumber: '2026-0815' } }),
    response: {
      200: response('The updated payment.', PaymentSchema, {
        ...paymentExample,
        metadata: { ...paymentExample.metadata, invoiceNumber: '2026-0815' },
      }),
    },
    failures: ['customer_deleted'],
    callsProcessor: true,
    run: ({ params, body: { idempotencyKey: _, ...change } }, key) => payments.update(params.id, change, key),
    toResponse: paymentView,
  });
  routes.add(`POST ${path}/:id/client-secret`, {
    scope: 'write',
    operationId: 'getPaymentClientSecret',
    summary: 'Get the client secret of a payment again',
    description: 'Reads it from the processor, because Till never stores it. This changes nothing.',
    response: {
      200: response('The client secret.', ClientSecretSchema, { clientSecret: clientSecretExample }),
    },
    callsProcessor: true,
    run: async ({ params }) => ({ clientSecret: await payments.readClientSecret(params.id) }),
  });
}

const CaptureBody = Type.Object(
  {
    amount: Type.Optional(amountOf('Default: the whole authorised amount. The processor releases the rest.')),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  // The body is optional: without one, the whole authorised amount is captured.
  { title: 'NewCapture', additionalProperties: false, [optionalBody]: true },
);

function registerCapture(routes: ApiRoutes, payments: PaymentService): void {
  routes.addKeyed(`POST ${path}/:id/capture`, {
    scope: 'write',
    operationId: 'capturePayment',
    summary: 'Capture an authorised payment fully or partially',
    description:
      'For a payment with `captureMethod` `manual`. You can capture it once, before `captureBefore`.',
    body: body(CaptureBody, { amount: 1_500 }),
    response: {
      200: response('The captured payment.', PaymentSchema, {
        ...paymentExample,
        amountReceived: 1_500,
        status: 'succeeded',
        paymentMethod: {
          id: 'pm_1MtwBwLkdIwHu7ixn8Nf4Ky1',
          type: 'card',
          brand: 'visa',
          last4: '4242',
          expMonth: 12,
          expYear: 2034,
        },
      }),
    },
    failures: ['payment_not_capturable', 'capture_exceeds_authorized'],
    callsProcessor: true,
    run: ({ params, body: { amount = null } }, key) =>
      payments.capture({ paymentId: params.id, amount }, key),
    toResponse: paymentView,
  });
}
