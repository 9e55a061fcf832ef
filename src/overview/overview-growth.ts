import { type Cell, now } from './cells.ts';
import type { Growth } from './growth-schema.ts';
import { type DayRange, daysOf, type Interval, periodsOf } from './overview-range.ts';
import { later } from './overview-store.ts';
import { type Move, moveMetrics, totalMetric } from './subscription-moves.ts';

/** How monthly revenue moves from the start to the end of some days. */
type Bridge = Omit<NonNullable<Growth['mrr']>, 'series'>;

interface GrowthRequest {
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

/** The numbers of a range. The cells are those of one currency, of the range and all days after it, and the current ones. */
export function growthOf(byDay: ReadonlyMap<string, readonly Cell[]>, request: GrowthRequest): Growth {
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
  // Counts back from now, as all numbers about subscriptions.
  const current = sumDays(byDay, [now]).get(totalMetric) ?? none;
  const start = {
    amount: current.amount - changeOf(after).amount - changeOf(sums).amount,
    count: current.count - changeOf(after).count - changeOf(sums).count,
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

interface Sum {
  readonly count: number;
  readonly amount: bigint;
}
type Sums = ReadonlyMap<string, Sum>;
const none: Sum = { count: 0, amount: 0n };

/** The cells of some days, by metric. */
function sumDays(byDay: ReadonlyMap<string, readonly Cell[]>, days: readonly string[]): Sums {
  const sums = new Map<string, Sum>();
  for (const day of days)
    for (const { metric, count, amount } of byDay.get(day) ?? []) {
      const sum = sums.get(metric) ?? none;
      sums.set(metric, { count: sum.count + count, amount: sum.amount + amount });
    }
  return sums;
}

/** How much the sum of monthly amounts, and the number of subscribers, changed. */
function changeOf(sums: Sums): Sum {
  const amountOf = (move: Move) => sums.get(moveMetrics[move])?.amount ?? 0n;
  const countOf = (move: Move) => sums.get(moveMetrics[move])?.count ?? 0;
  return {
    amount: moves.reduce((sum, move) => (isIncrease[move] ? sum + amountOf(move) : sum - amountOf(move)), 0n),
    count: countOf('new') + countOf('reactivated') - countOf('churned'),
  };
}

function bridgeOf(start: bigint, sums: Sums): Bridge {
  const amountOf = (move: Move) => Number(sums.get(moveMetrics[move])?.amount ?? 0n);
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

function seriesOf(
  start: bigint,
  periods: readonly DayRange[],
  byDay: ReadonlyMap<string, readonly Cell[]>,
): (DayRange & Bridge)[] {
  let standing = start;
  return periods.map((period) => {
    const sums = sumDays(byDay, daysOf(period));
    const bridge = bridgeOf(standing, sums);
    standing += changeOf(sums).amount;
    return { ...period, ...bridge };
  });
}

function subscribersOf(start: number, sums: Sums): NonNullable<Growth['subscribers']> {
  const countOf = (move: Move) => sums.get(moveMetrics[move])?.count ?? 0;
  const lost = countOf('churned');
  return {
    start,
    gained: countOf('new') + countOf('reactivated'),
    lost,
    end: start + changeOf(sums).count,
    churnRate: rate(lost, start),
  };
}

function turnsOf(sums: Sums): Pick<Growth, 'trials' | 'recovery'> {
  const countOf = (metric: string) => sums.get(metric)?.count ?? 0;
  const [converted, expired] = [countOf('trials.converted'), countOf('trials.expired')];
  const [recovered, lost] = [countOf('recovery.recovered'), countOf('recovery.lost')];
  return {
    trials: {
      started: countOf('trials.started'),
      ...{ converted, expired, conversionRate: rate(converted, converted + expired) },
    },
    recovery: {
      failed: countOf('recovery.failed'),
      ...{ recovered, lost, recoveryRate: rate(recovered, recovered + lost) },
    },
  };
}

function netVolumeOf(sums: Sums): Growth['netVolume'] {
  const amountOf = (metric: string) => Number(sums.get(metric)?.amount ?? 0n);
  const [gross, refunded] = [amountOf('payments'), amountOf('payments.refunded')];
  const disputed = amountOf('payments.withdrawn');
  return { gross, refunded, disputed, net: gross - refunded - disputed };
}

function rate(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
