import type { Static } from 'typebox';
import { planIntervals } from '#core/model/plan.ts';
import type { PlanFeatures } from '#core/model/plan-features.ts';
import { Type } from '#core/platform/schemas.ts';
import { DateTime, Id, MetadataResponse, nullable } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';

export const featureTypes = ['boolean', 'integer', 'string'];

export const PlanSchema = component('Plan', {
  id: Id,
  processorProductId: Type.String(),
  processorPriceId: Type.String(),
  name: Type.String(),
  amount: Type.Integer({ description: 'In the smallest unit of the currency.' }),
  currency: Type.String(),
  interval: Type.Enum([...planIntervals]),
  intervalCount: Type.Integer({ description: 'The number of intervals between two bills.' }),
  features: Type.Unsafe<PlanFeatures>({
    type: 'object',
    additionalProperties: { type: featureTypes },
    description: 'The features that subscribers get.',
  }),
  group: nullable(Type.String({ description: 'Null if the plan is in no group. An add-on is in none.' })),
  addOn: Type.Boolean({ description: 'True if the plan is sold only together with a main plan.' }),
  repeatable: Type.Boolean({
    description: 'True if checkouts sell a plan without a group to a customer who has it already.',
  }),
  active: Type.Boolean({ description: 'False if the plan is archived.' }),
  metadata: MetadataResponse,
  createdAt: DateTime,
  updatedAt: DateTime,
});

export const planExample: Static<typeof PlanSchema> = {
  id: '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
  processorProductId: 'prod_NWjs8kKbJWmuuc',
  processorPriceId: 'price_1MoBy5LkdIwHu7ixZhnattbh',
  name: 'Pro',
  amount: 1_900,
  currency: 'eur',
  interval: 'month',
  intervalCount: 1,
  features: { seats: 5, sso: true, support: 'email' },
  group: 'base',
  addOn: false,
  repeatable: false,
  active: true,
  metadata: { edition: '2026' },
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:30:00.000Z',
};
