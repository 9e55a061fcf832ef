import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import type { Total, TotalValue } from '#engine/overview/counted-kind.ts';
import { totals } from '#features/features.ts';
import { currencyParameter, dateTime, nullable } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { day, growthExample, growthProperties, number } from './growth-schema.ts';
import { intervals } from './overview-range.ts';

/** The numbers that the features announce. */
const activity: Readonly<Record<string, ReturnType<typeof schemaOf>>> = Object.fromEntries(
  Object.entries(totals).map(([name, total]) => [name, schemaOf(total)]),
);

function schemaOf({ shows, description }: Total) {
  if (shows !== 'both') return number(description);
  return Type.Object(
    { count: Type.Integer(), amount: Type.Integer({ description: 'In the smallest unit of the currency.' }) },
    { description },
  );
}

const counts = {
  active: number('Subscriptions with the status `active`. Rows: `GET /api/v1/subscriptions?status=active`.'),
  trialing: number('Subscriptions with the status `trialing`. Rows: with `status=trialing`.'),
  pastDue: number(
    'Subscriptions at risk: those with the status `past_due`, whose last invoice is not paid. Rows: with `status=past_due`.',
  ),
  unpaid: number('Subscriptions with the status `unpaid`. Rows: with `status=unpaid`.'),
};

const subscriptionNumbers = {
  ...counts,
  monthlyRecurringRevenue: component('MonthlyRecurringRevenue', {
    total: number('The sum of `active` and `pastDue`.'),
    active: number(
      'What subscriptions with the status `active` charge in a month: the sum of the amount of each plan times its ' +
        'quantity, add-ons included, before discounts and taxes. `otherItems` do not count, because their amount ' +
        'depends on use or tiers. Of a plan that does not bill monthly it is a twelfth of a year with 12 ' +
        'months, 52 weeks or 365 days. The exact sum is rounded once. In the smallest unit of the currency.',
    ),
    pastDue: number('The same for subscriptions with the status `past_due`: revenue at risk.'),
  }),
};

const Subscriptions = component('OverviewSubscriptions', subscriptionNumbers);
const SubscriptionCounts = component('OverviewSubscriptionCounts', counts);
const Totals = component('OverviewTotals', activity);

export const OverviewSchema = component('Overview', {
  from: day('The first day.'),
  to: day('The last day.'),
  timeZone: Type.String({ description: 'The time zone of the days: the setting `OVERVIEW_TIME_ZONE`.' }),
  startsAt: dateTime('When the first day begins.'),
  endsAt: dateTime('When the day after the last begins.'),
  interval: Type.Enum([...intervals], { description: 'The interval of the series of `mrr`.' }),
  currency: nullable(Type.String({ description: 'The currency of the request. Null: all.' })),
  asOf: dateTime(
    'The numbers contain all changes up to this time. It is the time of the request, unless `isCurrent` is false.',
  ),
  isCurrent: Type.Boolean({
    description: 'False if very many changes are waiting to be counted. They are counted in the background.',
  }),
  subscriptionsSince: day(
    'The first day whose changes of subscriptions are known: the day on which the release with the overview was ' +
      'installed. `subscriptions` of `days`, `mrr`, `subscribers`, `trials` and `recovery` begin with it.',
  ),
  movesSince: day(
    'The first day whose changes of subscriptions are all listed by `GET /api/v1/overview/moves`: `subscriptionsSince`, or ' +
      'later if a release without that list counted the first days.',
  ),
  subscriptions: SubscriptionCounts,
  currencies: Type.Array(
    component('OverviewCurrency', {
      currency: Type.String(),
      totals: Totals,
      subscriptions: Subscriptions,
      ...growthProperties,
      previous: nullable({
        ...Type.Object({
          from: day('The first day.'),
          to: day('The last day: the one before the range.'),
          totals: Totals,
          ...growthProperties,
        }),
        description:
          'With `compare=previous`: the same numbers for the range of equal length before this one. Else null.',
      }),
      days: Type.Array(
        component('OverviewDay', {
          date: day('The day.'),
          ...activity,
          subscriptions: nullable({
            ...Type.Object(subscriptionNumbers),
            description:
              'The subscriptions at the end of the day, or now if it is today. Null before `subscriptionsSince` and ' +
              'for future days.',
          }),
        }),
        { description: 'Every day of the range, in order.' },
      ),
    }),
    {
      description:
        'By currency, in alphabetical order: the one of the request, or all that have any numbers. Amounts of ' +
        'different currencies are never added.',
    },
  ),
  webhooks: component('OverviewWebhooks', {
    pending: number(
      'Webhook events that wait to be processed, counted up to 100,000. Rows: `GET /api/v1/webhook-events?state=pending`.',
    ),
    failed: number(
      'Webhook events that failed and are not retried, counted up to 100,000. Rows: with `state=failed`.',
    ),
    lagSeconds: nullable(
      Type.Number({
        description: 'For how long the pending event that waits longest has been due. Null if none is due.',
      }),
    ),
    oldestPendingSeconds: nullable(
      Type.Number({
        description: 'How long ago the oldest pending event was received. Null if none is pending.',
      }),
    ),
  }),
});

export const OverviewQuery = Type.Object(
  {
    from: Type.Optional(
      Type.String({
        format: 'date',
        description: 'The first day. Default: 29 days before `to`.',
        examples: ['2026-11-01'],
      }),
    ),
    to: Type.Optional(
      Type.String({
        format: 'date',
        description: 'The last day, at most 366 days with `from`. Default: today.',
        examples: ['2026-11-15'],
      }),
    ),
    interval: Type.Optional(
      Type.Enum([...intervals], {
        description:
          'The interval of the series of `mrr`. Weeks begin on Monday. The first and the last week or month contain ' +
          'only the days of the range.',
        default: 'day',
      }),
    ),
    compare: Type.Optional(
      Type.Literal('previous', {
        description: 'Adds `previous`: the numbers of the range of equal length before this one.',
      }),
    ),
    currency: Type.Optional(currencyParameter('Only this currency, in upper or lower case. Default: all.')),
  },
  { additionalProperties: false },
);

const activityExample = Object.fromEntries(
  Object.entries(totals).map(([name, { example }]) => [name, example]),
);
const subscriptionsExample = {
  active: 12,
  trialing: 3,
  pastDue: 1,
  unpaid: 0,
  monthlyRecurringRevenue: { total: 23_700, active: 21_800, pastDue: 1_900 },
};

export const overviewExample: Static<typeof OverviewSchema> = {
  from: '2026-11-15',
  to: '2026-11-15',
  timeZone: 'UTC',
  startsAt: '2026-11-15T00:00:00.000Z',
  endsAt: '2026-11-16T00:00:00.000Z',
  interval: 'day',
  currency: null,
  asOf: '2026-11-15T09:30:00.000Z',
  isCurrent: true,
  subscriptionsSince: '2026-11-01',
  movesSince: '2026-11-01',
  subscriptions: { active: 12, trialing: 3, pastDue: 1, unpaid: 0 },
  currencies: [
    {
      currency: 'eur',
      totals: activityExample,
      subscriptions: subscriptionsExample,
      ...growthExample,
      previous: null,
      days: [{ date: '2026-11-15', ...activityExample, subscriptions: subscriptionsExample }],
    },
  ],
  webhooks: { pending: 0, failed: 0, lagSeconds: null, oldestPendingSeconds: null },
};

export type Overview = Static<typeof OverviewSchema>;
/** The numbers of a range of days that the features announce. */
export type Activity = Readonly<Record<string, TotalValue>>;
export type SubscriptionCounts = Static<typeof SubscriptionCounts>;
export type SubscriptionNumbers = Static<typeof Subscriptions>;
export type CurrencyNumbers = Overview['currencies'][number];
