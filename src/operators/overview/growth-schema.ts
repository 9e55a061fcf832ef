import type { Static, TProperties } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { nullable } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';

const amount = (description: string) =>
  Type.Integer({ description: `${description} In the smallest unit of the currency.` });
export const number = (description: string) => Type.Integer({ description });
export const day = (description: string) => Type.String({ format: 'date', description });
const rate = (description: string) => nullable(Type.Number({ description }));
const unknown = 'Null if the range has no day from `subscriptionsSince` up to today.';
const known = <Properties extends TProperties>(title: string, properties: Properties, description: string) =>
  nullable({ ...component(title, properties), description: `${description} ${unknown}` });

const bridge = {
  start: amount(
    'The monthly recurring revenue at the start of the first day, or of `subscriptionsSince` if that is later.',
  ),
  new: amount('From customers who became subscribers for the first time.'),
  expansion: amount(
    'The increases for existing subscribers: another plan, quantity or add-on, or another subscription.',
  ),
  contraction: amount('The decreases for customers who stay subscribers.'),
  churned: amount('The amounts of customers who stopped being subscribers.'),
  reactivated: amount(
    'From customers who became subscribers again. Before `subscriptionsSince`, a customer was a subscriber who had ' +
      'paid an invoice of a subscription that had ended or was unpaid.',
  ),
  end: amount('`start` + `new` + `expansion` + `reactivated` − `contraction` − `churned`, exactly.'),
};

/** The growth numbers of a range. Those about subscriptions are null if none of its days is known. */
export const growthProperties = {
  mrr: known(
    'OverviewMrr',
    {
      ...bridge,
      series: Type.Array(
        Type.Object({
          from: day('The first day of the interval within the range.'),
          to: day('The last day of the interval within the range.'),
          ...bridge,
        }),
        { description: 'The same for every `interval` from `subscriptionsSince` up to today, in order.' },
      ),
    },
    'Monthly recurring revenue at the start and at the end of the range, and how it moved. It counts as ' +
      '`monthlyRecurringRevenue` does: subscriptions that are `active` or `past_due`, before discounts and taxes, and ' +
      'as long as they have not ended, even if they will. But the amount of each subscription is rounded to the smallest ' +
      'unit, so that the parts add up. A customer whose sum of these amounts is above zero is a subscriber, in each ' +
      'currency separately. A change counts on the day on which Till learned of it; an imported subscription counts as ' +
      'new on the day of its import. A pending change counts once it is made.',
  ),
  subscribers: known(
    'OverviewSubscribers',
    {
      start: number('Subscribers at the start: customers with a monthly amount above zero, as in `mrr`.'),
      gained: number('How often a customer became a subscriber, for the first time or again.'),
      lost: number('How often a subscriber stopped being one.'),
      end: number('`start` + `gained` − `lost`.'),
      churnRate: rate('`lost` ÷ `start`. Null if `start` is 0.'),
    },
    'Customers who pay for subscriptions.',
  ),
  trials: known(
    'OverviewTrials',
    {
      started: number('Subscriptions that became `trialing`, or were created so.'),
      converted: number('Trials that ended with the subscription `active` or `past_due`.'),
      expired: number('Trials that ended with any other status.'),
      conversionRate: rate('`converted` ÷ (`converted` + `expired`). Null if no trial ended.'),
    },
    'Trials, each on the day on which it started or ended.',
  ),
  recovery: known(
    'OverviewRecovery',
    {
      failed: number(
        'How often the payment of a renewal failed at first: the subscription became `past_due`.',
      ),
      recovered: number(
        'How often it was paid later: the subscription was `past_due`, and became `active` or `trialing`.',
      ),
      lost: number(
        'How often it was never paid: the subscription was `past_due`, and became `unpaid` or `canceled`.',
      ),
      recoveryRate: rate('`recovered` ÷ (`recovered` + `lost`). Null if both are 0.'),
    },
    'Renewals that failed at first, each on the day of the change of the status.',
  ),
  netVolume: Type.Object(
    {
      gross: amount('The same as `volume` of `totals`.'),
      refunded: amount('The amount of `refundedPayments`: what was refunded of these payments, at any time.'),
      disputed: amount(
        'The amounts of their newest disputes with the status `needs_response`, `under_review` or `lost`, whose money ' +
          'the processor has taken back. Rows: those of `volume` with one of them as `disputeStatus`.',
      ),
      net: amount('`gross` − `refunded` − `disputed`.'),
    },
    {
      title: 'OverviewNetVolume',
      description:
        'The amount that remains of the payments that were created in these days, before the fees of the processor.',
    },
  ),
};

const Growth = Type.Object(growthProperties);
export type Growth = Static<typeof Growth>;

const bridgeExample = {
  ...{ start: 20_000, new: 4_900, expansion: 1_000, contraction: 300, churned: 1_900, reactivated: 0 },
  end: 23_700,
};

export const growthExample = {
  mrr: { ...bridgeExample, series: [{ from: '2026-11-15', to: '2026-11-15', ...bridgeExample }] },
  subscribers: { start: 12, gained: 2, lost: 1, end: 13, churnRate: 0.08333333333333333 },
  trials: { started: 2, converted: 1, expired: 1, conversionRate: 0.5 },
  recovery: { failed: 1, recovered: 3, lost: 1, recoveryRate: 0.75 },
  netVolume: { gross: 4_900, refunded: 0, disputed: 0, net: 4_900 },
};
