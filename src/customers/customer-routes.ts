import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  answer,
  body,
  bodyFailures,
  ChangedMetadata,
  DateTime,
  ExternalId,
  Id,
  IdempotencyKey,
  IdParams,
  keyFailures,
  MetadataAnswer,
  NewMetadata,
  nullable,
  problems,
  processorFailures,
} from '../http/docs/api-schema.ts';
import { component } from '../http/docs/components.ts';
import { answerCreated, idempotencyKeyOf, markReplay } from '../http/input/idempotency-key.ts';
import { registerListRoute } from '../http/read-routes.ts';
import { typed } from '../http/typed-app.ts';
import type { CustomerService } from './customer-service.ts';
import { customerView } from './customer-view.ts';

const Email = Type.String({ format: 'email', maxLength: 254 });
const Name = Type.String({ minLength: 1, maxLength: 256 });
const Phone = Type.String({ minLength: 1, maxLength: 32 });

const CustomerSchema = component('Customer', {
  id: Id,
  processorCustomerId: Type.String(),
  email: Type.String(),
  name: nullable(Type.String()),
  phone: nullable(Type.String()),
  externalId: nullable(Type.String()),
  metadata: MetadataAnswer,
  createdAt: DateTime,
  updatedAt: DateTime,
});

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

const example: Static<typeof CustomerSchema> = {
  id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  processorCustomerId: 'cus_Nffr5zNcVKZ0aB',
  email: 'ada@example.com',
  name: 'Ada Lovelace',
  phone: null,
  externalId: 'user-1815',
  metadata: { tier: 'founder' },
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:30:00.000Z',
};

const tags = ['customers'];
const path = '/api/v1/customers';

export interface CustomerRouteParts {
  readonly customers: CustomerService;
  /** Called when a customer is deleted, because the processor then ends its subscriptions. */
  readonly correctSubscriptions: (customerId: string) => Promise<void>;
}

export function registerCustomerRoutes(fastify: FastifyInstance, parts: CustomerRouteParts): void {
  registerWrites(fastify, parts.customers);
  registerDelete(fastify, parts);
  registerReads(fastify, parts.customers);
}

function registerWrites(fastify: FastifyInstance, customers: CustomerService): void {
  const app = typed(fastify);
  app.post(
    path,
    {
      config: { scope: 'write' },
      schema: {
        tags,
        operationId: 'createCustomer',
        summary: 'Create a customer',
        description:
          'If a customer with this externalId exists, it is returned unchanged, provided that it has the values that ' +
          'you send. So an application can send this request at every sign-in.',
        body: body(CreateBody, {
          email: example.email,
          name: 'Ada Lovelace',
          externalId: 'user-1815',
          metadata: example.metadata,
        }),
        response: {
          200: answer('The existing customer with this externalId.', CustomerSchema, example),
          201: answer('The new customer.', CustomerSchema, example),
          ...problems('external_id_taken', ...bodyFailures, ...keyFailures, ...processorFailures),
        },
      },
    },
    async (request, reply) => {
      const { idempotencyKey, name = null, phone = null, ...values } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const { result, replayed } = await customers.create({ ...values, name, phone }, key);
      const { customer, isExisting } = result;
      return answerCreated(reply, replayed)
        .code(isExisting ? 200 : 201)
        .send(customerView(customer));
    },
  );
  app.patch(
    `${path}/:id`,
    {
      config: { scope: 'write' },
      schema: {
        tags,
        operationId: 'updateCustomer',
        summary: 'Update a customer',
        params: IdParams,
        body: body(UpdateBody, { name: 'Ada King', phone: null }),
        response: {
          200: answer('The updated customer.', CustomerSchema, { ...example, name: 'Ada King' }),
          ...problems(
            'not_found',
            'external_id_taken',
            ...bodyFailures,
            ...keyFailures,
            ...processorFailures,
          ),
        },
      },
    },
    async (request, reply) => {
      const { idempotencyKey, ...change } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const { result, replayed } = await customers.update(request.params.id, change, key);
      return markReplay(reply, replayed).send(customerView(result));
    },
  );
}

function registerDelete(
  fastify: FastifyInstance,
  { customers, correctSubscriptions }: CustomerRouteParts,
): void {
  const app = typed(fastify);
  app.delete(
    `${path}/:id`,
    {
      config: { scope: 'write' },
      schema: {
        tags,
        operationId: 'deleteCustomer',
        summary: 'Delete a customer',
        description:
          "Cancels the customer's subscriptions and erases the email, name, phone, externalId and metadata, also the " +
          'metadata of payments and subscriptions. You can still read the payments and invoices.',
        params: IdParams,
        response: {
          204: Type.Null({ description: 'The customer is deleted.' }),
          ...problems('not_found', ...bodyFailures, ...processorFailures),
        },
      },
    },
    async (request, reply) => {
      await customers.delete(request.params.id, correctSubscriptions);
      return reply.code(204).send(null);
    },
  );
}

function registerReads(fastify: FastifyInstance, customers: CustomerService): void {
  const app = typed(fastify);
  registerListRoute(fastify, {
    path,
    tag: 'customers',
    plural: 'customers',
    operationId: 'listCustomers',
    summary: 'List customers, newest first',
    schema: CustomerSchema,
    example,
    filters: {
      externalId: Type.Optional({
        ...ExternalId,
        description: 'Return only the customer with this external id.',
      }),
      email: Type.Optional({ ...Email, description: 'Return only customers with this email, in any case.' }),
    },
    list: (request) => customers.list(request),
    toAnswer: customerView,
  });
  app.get(
    `${path}/:id`,
    {
      config: { scope: 'read' },
      schema: {
        tags,
        operationId: 'getCustomer',
        summary: 'Get a customer',
        params: IdParams,
        response: { 200: answer('The customer.', CustomerSchema, example), ...problems('not_found') },
      },
    },
    async (request) => customerView(await customers.read(request.params.id)),
  );
}
