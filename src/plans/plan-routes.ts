import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  answer,
  body,
  bodyFailures,
  ChangedMetadata,
  Currency,
  DateTime,
  Id,
  IdempotencyKey,
  IdParams,
  keyFailures,
  MetadataAnswer,
  NewMetadata,
  problems,
  processorFailures,
} from '../http/docs/api-schema.ts';
import { component } from '../http/docs/components.ts';
import { answerCreated, idempotencyKeyOf, markReplay } from '../http/input/idempotency-key.ts';
import { typed } from '../http/typed-app.ts';
import { type Plan, planIntervals } from './plan.ts';
import type { PlanService } from './plan-service.ts';

const Name = Type.String({ minLength: 1, maxLength: 256 });

const PlanSchema = component('Plan', {
  id: Id,
  processorProductId: Type.String(),
  processorPriceId: Type.String(),
  name: Type.String(),
  amount: Type.Integer({ description: 'In the smallest unit of the currency.' }),
  currency: Type.String(),
  interval: Type.Enum([...planIntervals]),
  active: Type.Boolean({ description: 'False if the plan is archived.' }),
  metadata: MetadataAnswer,
  createdAt: DateTime,
  updatedAt: DateTime,
});

const CreateBody = Type.Object(
  {
    name: Name,
    amount: Type.Integer({ minimum: 0, maximum: 999_999_999_999 }),
    currency: Currency,
    interval: Type.Enum([...planIntervals]),
    metadata: Type.Optional(NewMetadata),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  { title: 'NewPlan', additionalProperties: false },
);

const UpdateBody = Type.Object(
  {
    name: Type.Optional(Name),
    metadata: Type.Optional(ChangedMetadata),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  {
    title: 'PlanChange',
    additionalProperties: false,
    description: 'Fields that you leave out keep their value.',
  },
);

const ListQuery = Type.Object(
  { activeOnly: Type.Enum(['true', 'false'], { default: 'false' }) },
  { additionalProperties: false },
);

const example: Static<typeof PlanSchema> = {
  id: '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
  processorProductId: 'prod_NWjs8kKbJWmuuc',
  processorPriceId: 'price_1MoBy5LkdIwHu7ixZhnattbh',
  name: 'Pro',
  amount: 1_900,
  currency: 'eur',
  interval: 'month',
  active: true,
  metadata: { edition: '2026' },
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:30:00.000Z',
};

const tags = ['plans'];
const path = '/api/v1/plans';

export function registerPlanRoutes(fastify: FastifyInstance, plans: PlanService): void {
  registerWrites(fastify, plans);
  registerReads(fastify, plans);
}

function registerWrites(fastify: FastifyInstance, plans: PlanService): void {
  const app = typed(fastify);
  app.post(
    path,
    {
      schema: {
        tags,
        operationId: 'createPlan',
        summary: 'Create a plan',
        description:
          'Creates a product and its price. A price cannot change: archive the plan and create another one instead.',
        body: body(CreateBody, { name: 'Pro', amount: 1_900, currency: 'eur', interval: 'month' }),
        response: {
          201: answer('The new plan.', PlanSchema, example),
          ...problems(...bodyFailures, ...keyFailures, ...processorFailures),
        },
      },
    },
    async (request, reply) => {
      const { idempotencyKey, currency, ...values } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const { result, replayed } = await plans.create({ ...values, currency: currency.toLowerCase() }, key);
      return answerCreated(reply, replayed).send(toAnswer(result));
    },
  );
  app.patch(
    `${path}/:id`,
    {
      schema: {
        tags,
        operationId: 'updatePlan',
        summary: 'Update a plan',
        params: IdParams,
        body: body(UpdateBody, { name: 'Pro 2027', metadata: { edition: '2027' } }),
        response: {
          200: answer('The updated plan.', PlanSchema, { ...example, name: 'Pro 2027' }),
          ...problems('not_found', ...bodyFailures, ...keyFailures, ...processorFailures),
        },
      },
    },
    async (request, reply) => {
      const { idempotencyKey, ...change } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const { result, replayed } = await plans.update(request.params.id, change, key);
      return markReplay(reply, replayed).send(toAnswer(result));
    },
  );
  app.post(
    `${path}/:id/archive`,
    {
      schema: {
        tags,
        operationId: 'archivePlan',
        summary: 'Archive a plan',
        description: 'An archived plan accepts no new subscriptions. Existing subscriptions continue.',
        params: IdParams,
        response: {
          200: answer('The archived plan.', PlanSchema, { ...example, active: false }),
          ...problems('not_found', ...bodyFailures, ...processorFailures),
        },
      },
    },
    async (request) => toAnswer(await plans.archive(request.params.id)),
  );
}

function registerReads(fastify: FastifyInstance, plans: PlanService): void {
  const app = typed(fastify);
  app.get(
    path,
    {
      schema: {
        tags,
        operationId: 'listPlans',
        summary: 'List plans, newest first',
        querystring: ListQuery,
        response: {
          200: answer('All plans.', Type.Array(PlanSchema), [example]),
          ...problems(),
        },
      },
    },
    async (request) => (await plans.list(request.query.activeOnly === 'true')).map(toAnswer),
  );
  app.get(
    `${path}/:id`,
    {
      schema: {
        tags,
        operationId: 'getPlan',
        summary: 'Get a plan',
        params: IdParams,
        response: { 200: answer('The plan.', PlanSchema, example), ...problems('not_found') },
      },
    },
    async (request) => toAnswer(await plans.read(request.params.id)),
  );
}

function toAnswer(plan: Plan): Static<typeof PlanSchema> {
  return {
    id: plan.id,
    processorProductId: plan.processorProductId,
    processorPriceId: plan.processorPriceId,
    name: plan.name,
    amount: plan.amount,
    currency: plan.currency,
    interval: plan.interval,
    active: plan.active,
    metadata: plan.metadata,
    createdAt: plan.createdAt.toISOString(),
    updatedAt: plan.updatedAt.toISOString(),
  };
}
