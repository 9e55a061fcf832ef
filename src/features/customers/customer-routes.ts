import type { FastifyInstance } from 'fastify';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import {
  body,
  ChangedMetadata,
  Email,
  ExternalId,
  IdempotencyKey,
  Name,
  NewMetadata,
  nullable,
  response,
} from '#http/docs/api-schema.ts';
import { patternRule } from '#http/input/validator.ts';
import { registerListRoute } from '#http/read-routes.ts';
import { CustomerSchema, customerExample, customerView } from './customer-fields.ts';
import type { CustomerDependents, CustomerService } from './customer-service.ts';

const Phone = Type.String({ minLength: 1, maxLength: 32 });

const CreateBody = Type.Object(
  {
    email: Email,
    name: Type.Optional(Name),
    phone: Type.Optional(Phone),
    externalId: Type.Optional(ExternalId),
    metadata: Type.Optional(NewMetadata),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  { title: 'NewCustomer', additionalProperties: false },
);

const UpdateBody = Type.Object(
  {
    email: Type.Optional(Email),
    name: Type.Optional(nullable(Name)),
    phone: Type.Optional(nullable(Phone)),
    externalId: Type.Optional(nullable(ExternalId)),
    metadata: Type.Optional(ChangedMetadata),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  {
    title: 'CustomerChange',
    additionalProperties: false,
    description:
      'Fields that you leave out keep their value. null clears the name, the phone or the externalId.',
  },
);

const path = '/api/v1/customers';
const wordsLengthMax = 255;
/** Contains more than spaces, and no control characters. */
const wordsPattern = `^\\s*[^\\s\\p{Cc}](?:[^\\p{Cc}]{0,${wordsLengthMax - 2}}[^\\s\\p{Cc}])?\\s*$`;

export function registerCustomerRoutes(
  app: FastifyInstance,
  customers: CustomerService,
  dependents: CustomerDependents,
): void {
  const routes = new ApiRoutes(app, 'customers');
  addWrites(routes, customers, dependents);
  registerListRoute(app, {
    path,
    tag: 'customers',
    plural: 'customers',
    operationId: 'listCustomers',
    summary: 'List customers, newest first',
    schema: CustomerSchema,
    example: customerExample,
    filters: {
      externalId: Type.Optional({
        ...ExternalId,
        description: 'Return only the customer with this external id.',
      }),
      email: Type.Optional({
        ...Email,
        description: 'Return only customers with this email, ignoring case.',
      }),
      q: Type.Optional(
        Type.String({
          pattern: wordsPattern,
          [patternRule]: `must have 1 to ${wordsLengthMax} characters, and no control characters`,
          description:
            'Return only customers whose name and email have all these words, in any order, ignoring case and accents. ' +
            'A word of one or two characters is found at the beginning of a word (two Chinese, Japanese or Korean ' +
            'characters anywhere), and a longer one anywhere. Only the first 8 different words count.',
          examples: ['lovel ada'],
        }),
      ),
    },
    list: (request) => customers.list(request),
    toResponse: customerView,
  });
  routes.add(`GET ${path}/:id`, {
    scope: 'read',
    operationId: 'getCustomer',
    summary: 'Get a customer',
    response: { 200: response('The customer.', CustomerSchema, customerExample) },
    run: async ({ params }) => customerView(await customers.read(params.id)),
  });
}

function addWrites(routes: ApiRoutes, customers: CustomerService, dependents: CustomerDependents): void {
  routes.addKeyed(`POST ${path}`, {
    scope: 'write',
    operationId: 'createCustomer',
    summary: 'Create a customer',
    description:
      'If a customer with this externalId exists, it is returned unchanged, provided that it has the values that ' +
      'you send. So an application can send this request at every sign-in.',
    body: body(CreateBody, {
      email: customerExample.email,
      name: 'Ada Lovelace',
      externalId: 'user-1815',
      metadata: customerExample.metadata,
    }),
    response: {
      200: response('The existing customer with this externalId.', CustomerSchema, customerExample),
      201: response('The new customer.', CustomerSchema, customerExample),
    },
    failures: ['external_id_taken'],
    callsProcessor: true,
    run: ({ body: { idempotencyKey: _, name = null, phone = null, ...values } }, key) =>
      customers.create({ ...values, name, phone }, key),
    toResponse: ({ customer, isExisting }, _replayed, reply) => {
      reply.code(isExisting ? 200 : 201);
      return customerView(customer);
    },
  });
  routes.addKeyed(`PATCH ${path}/:id`, {
    scope: 'write',
    operationId: 'updateCustomer',
    summary: 'Update a customer',
    body: body(UpdateBody, { name: 'Ada King', phone: null }),
    response: {
      200: response('The updated customer.', CustomerSchema, { ...customerExample, name: 'Ada King' }),
    },
    failures: ['external_id_taken'],
    callsProcessor: true,
    run: ({ params, body: { idempotencyKey: _, ...change } }, key) =>
      customers.update(params.id, change, key),
    toResponse: customerView,
  });
  routes.add(`DELETE ${path}/:id`, {
    scope: 'write',
    operationId: 'deleteCustomer',
    audited: 'everyone',
    summary: 'Delete a customer',
    description:
      "Expires the customer's open checkouts, cancels the subscriptions and erases the email, name, phone, externalId and metadata, and the " +
      'metadata of payments, subscriptions and checkouts. You can still read the payments and invoices.',
    response: { 204: Type.Null({ description: 'The customer is deleted.' }) },
    failures: ['checkout_in_progress'],
    callsProcessor: true,
    run: async ({ params }) => {
      await customers.delete(params.id, dependents);
      return null;
    },
  });
}
