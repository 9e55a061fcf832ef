import { groupOf, type Plan, planIntervals } from '#core/model/plan.ts';
import type { PlanFeatures } from '#core/model/plan-features.ts';
import {
  derived,
  exampleOf,
  type Fields,
  schemasOf,
  shown,
  type ViewOf,
  viewOf,
} from '#core/platform/fields.ts';
import { Type } from '#core/platform/schemas.ts';
import { computed, immutable, mutable } from '#core/platform/table.ts';
import { DateTime, Id, MetadataResponse, nullable } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';

export const featureTypes = ['boolean', 'integer', 'string'];

const FeaturesSchema = Type.Unsafe<PlanFeatures>({
  type: 'object',
  additionalProperties: { type: featureTypes },
  description: 'The features that subscribers get.',
});

const repeatable = 'True if checkouts sell a plan without a group to a customer who has it already.';

export const planFields = {
  id: shown(immutable('uuid'), Id, '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11'),
  processorProductId: shown(immutable('text'), Type.String(), 'prod_NWjs8kKbJWmuuc'),
  processorPriceId: shown(immutable('text'), Type.String(), 'price_1MoBy5LkdIwHu7ixZhnattbh'),
  name: shown(mutable('text'), Type.String(), 'Pro'),
  amount: shown(
    immutable('bigint'),
    Type.Integer({ description: 'In the smallest unit of the currency.' }),
    1_900,
  ),
  currency: shown(immutable('text'), Type.String(), 'eur'),
  interval: shown(immutable('text'), Type.Enum([...planIntervals]), 'month'),
  intervalCount: shown(
    immutable('integer'),
    Type.Integer({ description: 'The number of intervals between two bills.' }),
    1,
  ),
  features: shown(mutable('jsonb'), FeaturesSchema, { seats: 5, sso: true, support: 'email' }),
  group: derived(
    nullable(Type.String({ description: 'Null if the plan is in no group. An add-on is in none.' })),
    'base',
    groupOf,
  ),
  addOn: shown(
    mutable('boolean'),
    Type.Boolean({ description: 'True if the plan is sold only together with a main plan.' }),
    false,
  ),
  repeatable: shown(mutable('boolean'), Type.Boolean({ description: repeatable }), false),
  active: shown(computed('boolean'), Type.Boolean({ description: 'False if the plan is archived.' }), true),
  metadata: shown(mutable('jsonb'), MetadataResponse, { edition: '2026' }),
  createdAt: shown(immutable('timestamptz'), DateTime, '2026-11-15T09:30:00.000Z'),
  updatedAt: shown(mutable('timestamptz'), DateTime, '2026-11-15T09:30:00.000Z'),
  groupName: mutable('text'),
  addOnClaimId: computed('uuid'),
  productActive: mutable('boolean'),
  priceActive: mutable('boolean'),
  productAsOf: mutable('timestamptz'),
  productAsOfLatest: mutable('timestamptz'),
  priceAsOf: mutable('timestamptz'),
  priceAsOfLatest: mutable('timestamptz'),
  revision: computed('integer'),
} satisfies Fields<Plan, 'group'>;

export const PlanSchema = component('Plan', schemasOf(planFields));

export const planExample = exampleOf(planFields);

export type PlanView = ViewOf<typeof planFields>;

/** A plan as the API shows it. */
export const planView = viewOf<Plan>()(planFields);
