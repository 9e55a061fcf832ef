import { type DayRange, lastDays, type Period, periods } from '../../format/periods.ts';

const dayMs = 86_400_000;

/** The ranges of the overview that one click chooses. Those of the calendar that have not ended end today. */
export function presets(today: string): readonly Period[] {
  return [
    ...[7, 30, 90, 365].map((count) => ({ label: `${count} days`, ...lastDays(count, today) })),
    ...periods(today).map((period) => (period.to > today ? { ...period, to: today } : period)),
  ];
}

export const intervals = ['day', 'week', 'month'] as const;
export type Interval = (typeof intervals)[number];

/** About thirty points are easy to read. */
const pointsMax = 45;

/** The interval of an address, or else one that suits the range. */
export function intervalOf(text: string | undefined, { from, to }: DayRange): Interval {
  const chosen = intervals.find((one) => one === text);
  if (chosen !== undefined) return chosen;
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (days <= pointsMax) return 'day';
  return days <= 7 * pointsMax ? 'week' : 'month';
}

/** The filters of lists whose rows were created in these days. */
export function createdIn({
  startsAt,
  endsAt,
}: {
  readonly startsAt: string;
  readonly endsAt: string;
}): Readonly<Record<string, string>> {
  return { createdAfter: startsAt, createdBefore: endsAt };
}
