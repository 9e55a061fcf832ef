import type { FailureCode } from '#core/errors.ts';
import { Type } from '#core/platform/schemas.ts';
import { dateTime, Id, nullable } from '#http/docs/api-schema.ts';
import { addOnsMax } from '../add-ons.ts';
import { prorations, quantityMax } from './subscription-patch.ts';

const AddOnsInput = Type.Array(
  Type.Object(
    {
      planId: Id,
      quantity: Type.Optional(Type.Integer({ minimum: 1, maximum: quantityMax, default: 1 })),
    },
    { additionalProperties: false },
  ),
  { maxItems: addOnsMax },
);

/** The failures of a request that gives plans to a subscription. */
export const planFailures: readonly FailureCode[] = [
  'plan_archived',
  'plan_is_add_on',
  'plan_is_no_add_on',
  'currency_mismatch',
  'interval_mismatch',
  'too_many_items',
];

/** The failures of a change of plan or quantity, and of its preview. */
export const changeFailures: readonly FailureCode[] = [
  ...planFailures,
  'subscription_ended',
  'subscription_incomplete',
  'subscription_ending',
  'payment_due',
];

/** What a new subscription bills besides the main plan, in a request that creates or sells it. */
export const itemFields = {
  quantity: Type.Optional(Type.Integer({ minimum: 1, maximum: quantityMax, default: 1 })),
  addOns: Type.Optional({
    ...AddOnsInput,
    description:
      'Plans that are billed on the same invoice. Each is an add-on with the currency and interval of the main plan.',
  }),
};

/** The trial of a new subscription. */
export const trialFields = {
  trialPeriodDays: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 730, description: '0 means no trial.' }),
  ),
  trialOnce: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'No trial for a customer who ever had one to a plan of the same group. If the plan has no group: to this plan.',
    }),
  ),
};

/** People write a sentence or two. The processor has no documented limit. */
const reasonLengthMax = 500;

/** Why a subscription is canceled. */
export const cancellationReason = (more = '') =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: reasonLengthMax,
      description: `Why it is canceled, in free text. The processor keeps it, and the subscription shows it.${more}`,
    }),
  );

/** The fields of a change of plan or quantity. */
export const termsFields = {
  planId: Type.Optional(Id),
  quantity: Type.Optional(Type.Integer({ minimum: 1, maximum: quantityMax })),
  addOns: Type.Optional({
    ...AddOnsInput,
    description:
      'All add-ons after the change; `[]` removes them. Without it they stay as they are. A new one must be an add-on with ' +
      'the currency and interval of the main plan. A change to another interval needs add-ons of that interval.',
  }),
  when: Type.Optional(
    Type.Enum(['now', 'periodEnd'], {
      description: 'When the change applies: `now`, the default, or when the current period ends.',
    }),
  ),
  proration: Type.Optional(
    Type.Enum([...prorations], {
      description:
        'How the rest of the current period is billed: with the next renewal (`nextInvoice`, the default), now ' +
        '(`invoice`), or not at all (`none`).',
    }),
  ),
  prorationDate: Type.Optional(
    nullable(
      dateTime(
        'From a preview. The change is billed as if it happened at this time. Fractions of a second are dropped.',
      ),
    ),
  ),
};
