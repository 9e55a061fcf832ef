import { monthlyAmount } from '#core/model/monthly-amount.ts';
import type { Total, TotalValue } from '#engine/overview/counted-kind.ts';
import { totals } from '#features/features.ts';
import { type Cell, now } from './cells.ts';
import type { Growth } from './growth-schema.ts';
import { type GrowthRequest, growthOf } from './overview-growth.ts';
import { type DayRange, daysOf } from './overview-range.ts';
import type {
  Activity,
  CurrencyNumbers,
  SubscriptionCounts,
  SubscriptionNumbers,
} from './overview-schema.ts';
import { later } from './overview-store.ts';
import { Sums, sumDays } from './sums.ts';

interface NumbersRequest extends GrowthRequest {
  /** The range to compare with. */
  readonly previous: DayRange | undefined;
  readonly currency: string | undefined;
}

/**
 * Converts cells into the entries of the API, one for each currency. Amounts of different currencies are never added.
 */
export function numbersOf(cells: readonly Cell[], request: NumbersRequest): CurrencyNumbers[] {
  const byCurrency = Map.groupBy(
    cells.filter(({ count, amount }) => count !== 0 || amount !== 0n),
    ({ currency }) => currency,
  );
  const wanted = request.currency === undefined ? [...byCurrency.keys()].sort() : [request.currency];
  return wanted
    .map((currency) => ofCurrency(currency, byCurrency.get(currency) ?? [], request))
    .filter((numbers) => request.currency !== undefined || hasAny(numbers));
}

/** Numbers of subscriptions can be added across currencies. */
export function addCounts(currencies: readonly CurrencyNumbers[]): SubscriptionCounts {
  const sum = (name: keyof SubscriptionCounts) =>
    currencies.reduce((total, { subscriptions }) => total + subscriptions[name], 0);
  return { active: sum('active'), trialing: sum('trialing'), pastDue: sum('pastDue'), unpaid: sum('unpaid') };
}

function ofCurrency(currency: string, cells: readonly Cell[], request: NumbersRequest): CurrencyNumbers {
  const { range, previous, since, today } = request;
  const byDay = Map.groupBy(cells, ({ day }) => day);
  const days = daysOf(range);
  const totalsOf = (some: readonly string[]) => activityOf(sumDays(byDay, some));
  // Counts back from now: the number at the end of a day is the current number minus the changes after that day.
  const standing = sumDays(byDay, [now]);
  standing.subtract(byDay.get(later) ?? []);
  const shown = days.toReversed().map((date) => {
    const own = byDay.get(date) ?? [];
    const isKnown = date >= since && date <= today;
    const subscriptions = isKnown ? subscriptionsOf(standing) : null;
    standing.subtract(own);
    return { date, ...activityOf(new Sums(own)), subscriptions };
  });
  return {
    currency,
    totals: totalsOf(days),
    subscriptions: subscriptionsOf(sumDays(byDay, [now])),
    ...growthOf(byDay, request),
    previous:
      previous === undefined
        ? null
        : {
            ...{ ...previous, totals: totalsOf(daysOf(previous)) },
            ...growthOf(byDay, { ...request, range: previous }),
          },
    days: shown.toReversed(),
  };
}

function activityOf(sums: Sums): Activity {
  return Object.fromEntries(Object.entries(totals).map(([name, total]) => [name, shown(total, sums)]));
}

function shown({ metric, shows }: Total, sums: Sums): TotalValue {
  const [count, amount] = [sums.count(metric), Number(sums.amount(metric))];
  if (shows === 'both') return { count, amount };
  return shows === 'count' ? count : amount;
}

function subscriptionsOf(sums: Sums): SubscriptionNumbers {
  const active = Number(monthlyAmount(sums.recurring('active')));
  const pastDue = Number(monthlyAmount(sums.recurring('past_due')));
  return {
    active: sums.count('subscriptions.active'),
    trialing: sums.count('subscriptions.trialing'),
    pastDue: sums.count('subscriptions.past_due'),
    unpaid: sums.count('subscriptions.unpaid'),
    monthlyRecurringRevenue: { total: active + pastDue, active, pastDue },
  };
}

/** Whether a currency is in use in the range, in the one before it, or now. */
function hasAny({ totals, subscriptions, mrr, trials, recovery, days, previous }: CurrencyNumbers): boolean {
  const isUsed = ({ active, trialing, pastDue, unpaid }: SubscriptionCounts) =>
    active + trialing + pastDue + unpaid > 0;
  const isActive = (numbers: Activity) =>
    Object.values(numbers).some((value) => (typeof value === 'number' ? value : value.count) > 0);
  const hasMoved = (growth: Pick<Growth, 'mrr' | 'trials' | 'recovery'>) =>
    [growth.mrr?.start, growth.mrr?.end, growth.mrr?.churned].some((amount = 0) => amount > 0) ||
    [growth.trials?.started, growth.trials?.expired, growth.trials?.converted].some(
      (count = 0) => count > 0,
    ) ||
    [growth.recovery?.failed, growth.recovery?.recovered, growth.recovery?.lost].some(
      (count = 0) => count > 0,
    );
  return (
    isActive(totals) ||
    isUsed(subscriptions) ||
    days.some((day) => day.subscriptions !== null && isUsed(day.subscriptions)) ||
    hasMoved({ mrr, trials, recovery }) ||
    (previous !== null && (isActive(previous.totals) || hasMoved(previous)))
  );
}
