import { now } from './cells.ts';
import type { Growth } from './growth-schema.ts';
import { type DayRange, daysOf, type Interval, periodsOf } from './overview-range.ts';
import { later } from './overview-store.ts';
import { type Move, moveMetrics, totalMetric } from './subscription-moves.ts';
import { type CellsByDay, type Sums, sumDays } from './sums.ts';

/** How monthly revenue moves from the start to the end of some days. */
type Bridge = Omit<NonNullable<Growth['mrr']>, 'series'>;

/** Everything besides the cells that the numbers of a range depend on. */
export interface GrowthRequest {
  readonly range: DayRange;
  readonly interval: Interval;
  /** The first day whose changes are known, and the current one. */
  readonly since: string;
  readonly today: string;
}

const isIncrease: Readonly<Record<Move, boolean>> = {
  new: true,
  expansion: true,
  contraction: false,
  churned: false,
  reactivated: true,
};
const moves = Object.keys(isIncrease) as readonly Move[];

/**
 * The numbers of a range. The cells are those of one currency, of the range and all days after it, and the current
 * ones.
 */
export function growthOf(byDay: CellsByDay, request: GrowthRequest): Growth {
  const { range, since, today, interval } = request;
  const netVolume = netVolumeOf(sumDays(byDay, daysOf(range)));
  const known = {
    from: range.from < since ? since : range.from,
    to: range.to > today ? today : range.to,
  };
  if (known.from > known.to) return { mrr: null, subscribers: null, trials: null, recovery: null, netVolume };
  const sums = sumDays(byDay, daysOf(known));
  const after = sumDays(
    byDay,
    [...byDay.keys()].filter((day) => day === later || (day > known.to && day !== now)),
  );
  // Counts back from now, like all numbers about subscriptions.
  const current = sumDays(byDay, [now]);
  const start = {
    amount: current.amount(totalMetric) - changeOf(after).amount - changeOf(sums).amount,
    count: current.count(totalMetric) - changeOf(after).count - changeOf(sums).count,
  };
  return {
    mrr: {
      ...bridgeOf(start.amount, sums),
      series: seriesOf(start.amount, periodsOf(known, interval), byDay),
    },
    subscribers: subscribersOf(start.count, sums),
    ...turnsOf(sums),
    netVolume,
  };
}

/** How much the sum of monthly amounts, and the number of subscribers, changed. */
function changeOf(sums: Sums): { readonly amount: bigint; readonly count: number } {
  const amountOf = (move: Move) => sums.amount(moveMetrics[move]);
  return {
    amount: moves.reduce((sum, move) => (isIncrease[move] ? sum + amountOf(move) : sum - amountOf(move)), 0n),
    count: gainedIn(sums) - sums.count(moveMetrics.churned),
  };
}

function bridgeOf(start: bigint, sums: Sums): Bridge {
  const amountOf = (move: Move) => Number(sums.amount(moveMetrics[move]));
  return {
    start: Number(start),
    new: amountOf('new'),
    expansion: amountOf('expansion'),
    contraction: amountOf('contraction'),
    churned: amountOf('churned'),
    reactivated: amountOf('reactivated'),
    end: Number(start + changeOf(sums).amount),
  };
}

function seriesOf(start: bigint, periods: readonly DayRange[], byDay: CellsByDay): (DayRange & Bridge)[] {
  let standing = start;
  return periods.map((period) => {
    const sums = sumDays(byDay, daysOf(period));
    const bridge = bridgeOf(standing, sums);
    standing += changeOf(sums).amount;
    return { ...period, ...bridge };
  });
}

function subscribersOf(start: number, sums: Sums): NonNullable<Growth['subscribers']> {
  const lost = sums.count(moveMetrics.churned);
  return {
    start,
    gained: gainedIn(sums),
    lost,
    end: start + changeOf(sums).count,
    churnRate: rate(lost, start),
  };
}

function gainedIn(sums: Sums): number {
  return sums.count(moveMetrics.new) + sums.count(moveMetrics.reactivated);
}

function turnsOf(sums: Sums): Pick<Growth, 'trials' | 'recovery'> {
  const [converted, expired] = [sums.count('trials.converted'), sums.count('trials.expired')];
  const [recovered, lost] = [sums.count('recovery.recovered'), sums.count('recovery.lost')];
  return {
    trials: {
      started: sums.count('trials.started'),
      ...{ converted, expired, conversionRate: rate(converted, converted + expired) },
    },
    recovery: {
      failed: sums.count('recovery.failed'),
      ...{ recovered, lost, recoveryRate: rate(recovered, recovered + lost) },
    },
  };
}

function netVolumeOf(sums: Sums): Growth['netVolume'] {
  const amountOf = (metric: string) => Number(sums.amount(metric));
  const [gross, refunded] = [amountOf('payments'), amountOf('payments.refunded')];
  const disputed = amountOf('payments.withdrawn');
  return { gross, refunded, disputed, net: gross - refunded - disputed };
}

function rate(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
