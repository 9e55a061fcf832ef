import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { intervalCountMax, planIntervals, refuseGroupOfAddOn, refuseLongPeriod } from '#core/model/plan.ts';
import {
  featureKeyLengthMax,
  featureKeyPattern,
  featuresMax,
  featureTextLengthMax,
  featureTextPattern,
  groupLengthMax,
  groupPattern,
  type PlanFeatures,
} from '#core/model/plan-features.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { columnsOf } from '#http/csv/csv.ts';
import { wantsCsv } from '#http/csv/csv-exports.ts';
import { withCsv } from '#http/csv/csv-response.ts';
import {
  amountOf,
  body,
  ChangedMetadata,
  Currency,
  IdempotencyKey,
  NewMetadata,
  nullable,
  response,
} from '#http/docs/api-schema.ts';
import { inCurrency } from '#http/input/validator.ts';
import type { PlanValues } from '#processor/port/processor.ts';
import { planExample as example, featureTypes, PlanSchema, planView } from './plan-fields.ts';
import type { PlanService } from './plan-service.ts';

const Name = Type.String({ minLength: 1, maxLength: 256 });

const Features = Type.Unsafe<PlanFeatures>({
  type: 'object',
  propertyNames: { minLength: 1, maxLength: featureKeyLengthMax, pattern: featureKeyPattern },
  additionalProperties: {
    type: featureTypes,
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    maxLength: featureTextLengthMax,
    pattern: featureTextPattern,
  },
  maxProperties: featuresMax,
  description:
    `The features that subscribers get: at most ${featuresMax} booleans, integers and texts of at most ` +
    `${featureTextLengthMax} characters. Keys have 1 to ${featureKeyLengthMax} characters, without quotes, backslashes ` +
    'and characters beyond U+FFFF. No control characters. In a PATCH, the new features replace all others.',
});
const Group = nullable(
  Type.String({
    minLength: 1,
    maxLength: groupLengthMax,
    pattern: groupPattern,
    description:
      'Plans of the same group are alternatives: a customer has one live subscription to them. Null if the plan is in no ' +
      'group.',
  }),
);

const AddOn = Type.Boolean({
  description:
    'An add-on is sold only together with a main plan, as one of the `addOns` of a subscription, and is in no group. ' +
    'It can change while no live subscription has the plan.',
});

const Repeatable = Type.Boolean({
  description:
    'Without a `group`, checkouts sell a plan to a customer once: while a subscription to it is live, another checkout is ' +
    'refused. True: they sell it as often as the customer buys it.',
});

const CreateBody = Type.Object(
  {
    name: Name,
    amount: { ...amountOf('In the smallest unit of the currency.', 0), [inCurrency]: 'currency' },
    currency: Currency,
    interval: Type.Enum([...planIntervals]),
    intervalCount: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: intervalCountMax,
        default: 1,
        description: 'The number of intervals between two bills. A plan bills at least every three years.',
      }),
    ),
    features: Type.Optional(Features),
    group: Type.Optional(Group),
    addOn: Type.Optional({ ...AddOn, default: false }),
    repeatable: Type.Optional({ ...Repeatable, default: false }),
    metadata: Type.Optional(NewMetadata),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  { title: 'NewPlan', additionalProperties: false },
);

const UpdateBody = Type.Object(
  {
    name: Type.Optional(Name),
    features: Type.Optional(Features),
    group: Type.Optional(Group),
    addOn: Type.Optional(AddOn),
    repeatable: Type.Optional(Repeatable),
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

const { name, amount, currency, interval, features, group } = example;
const exampleOfNew: Static<typeof CreateBody> = { name, amount, currency, interval, features, group };

const exampleOfChange = {
  name: 'Pro 2027',
  features: { seats: 10, sso: true },
  metadata: { edition: '2027' },
};

const columns = columnsOf(PlanSchema);
const path = '/api/v1/plans';

export function registerPlanRoutes(app: FastifyInstance, plans: PlanService): void {
  const routes = new ApiRoutes(app, 'plans');
  routes.addKeyed(`POST ${path}`, {
    scope: 'write',
    operationId: 'createPlan',
    summary: 'Create a plan',
    description:
      'Creates a product and its price. A price cannot change: archive the plan and create another one instead.',
    body: body(CreateBody, exampleOfNew),
    response: { 201: response('The new plan.', PlanSchema, example) },
    callsProcessor: true,
    run: (request, key) => plans.create(newPlanOf(request.body), key),
    toResponse: planView,
  });
  routes.addKeyed(`PATCH ${path}/:id`, {
    scope: 'write',
    operationId: 'updatePlan',
    summary: 'Update a plan',
    description:
      'Changes the product, so other plans of the same product change too; `addOn` and `repeatable` are values of the ' +
      'price. An add-on takes no `group`.',
    body: body(UpdateBody, exampleOfChange),
    response: { 200: response('The updated plan.', PlanSchema, { ...example, ...exampleOfChange }) },
    callsProcessor: true,
    failures: ['plan_in_use'],
    run: ({ params, body: { idempotencyKey: _, ...change } }, key) => {
      refuseGroupOfAddOn(change.addOn === true, change.group);
      return plans.update(params.id, change, key);
    },
    toResponse: planView,
  });
  routes.add(`POST ${path}/:id/archive`, {
    scope: 'write',
    operationId: 'archivePlan',
    summary: 'Archive a plan',
    description: 'An archived plan accepts no new subscriptions. Existing subscriptions continue.',
    response: { 200: response('The archived plan.', PlanSchema, { ...example, active: false }) },
    callsProcessor: true,
    run: async ({ params }) => planView(await plans.archive(params.id)),
  });
  routes.add(`GET ${path}`, {
    scope: 'read',
    operationId: 'listPlans',
    mayReadReplica: true,
    audited: 'exports',
    summary: 'List plans, newest first',
    query: ListQuery,
    response: { 200: withCsv(response('All plans.', Type.Array(PlanSchema), [example]), columns, example) },
    run: async (request, reply) => {
      const list = async () => (await plans.list(request.query.activeOnly === 'true')).map(planView);
      if (!wantsCsv(request)) return list();
      const read = async () => {
        const data = await list();
        return { data, total: data.length, totalCapped: false, nextCursor: null };
      };
      return request.server.csvExports.send(request, reply, { name: 'plans', columns, read });
    },
  });
  routes.add(`GET ${path}/:id`, {
    scope: 'read',
    operationId: 'getPlan',
    summary: 'Get a plan',
    response: { 200: response('The plan.', PlanSchema, example) },
    run: async ({ params }) => planView(await plans.read(params.id)),
  });
}

/**
 * Requests that differ only in the case of the currency, or in a default value that is left out, are the same request.
 */
function newPlanOf(body: Static<typeof CreateBody>): PlanValues {
  const { name, amount, currency, interval, intervalCount = 1, features = {}, group = null, metadata } = body;
  const { addOn = false, repeatable = false } = body;
  refuseLongPeriod(interval, intervalCount);
  refuseGroupOfAddOn(addOn, group);
  return {
    name,
    amount,
    currency: currency.toLowerCase(),
    interval,
    ...(intervalCount === 1 ? {} : { intervalCount }),
    ...(Object.keys(features).length === 0 ? {} : { features }),
    ...(group === null ? {} : { group }),
    ...(addOn ? { addOn } : {}),
    ...(repeatable ? { repeatable } : {}),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
