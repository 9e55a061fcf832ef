/** The days that the overview shows, both inclusive, in its time zone. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

const dayMs = 86_400_000;

const dayOf = (timeMs: number) => new Date(timeMs).toISOString().slice(0, 10);

/** The current day in a time zone. */
export function todayIn(timeZone: string, now: Date): string {
  const parts = new Intl.DateTimeFormat('en', {
    ...{ timeZone, year: 'numeric', month: '2-digit', day: '2-digit' },
  }).formatToParts(now);
  const part = (name: string) => parts.find(({ type }) => type === name)?.value ?? '';
  return `${part('year')}-${part('month')}-${part('day')}`;
}

/** The last days up to today. */
export function lastDays(count: number, today: string): DayRange {
  return { from: dayOf(Date.parse(today) - (count - 1) * dayMs), to: today };
}

/** Some whole months: `back` is how many of these spans ago. The current one ends today. */
function monthsOf(count: number, back: number, today: string): DayRange {
  const now = new Date(today);
  const first = Math.floor(now.getUTCMonth() / count) * count - back * count;
  const start = (months: number) => Date.UTC(now.getUTCFullYear(), first + months, 1);
  return { from: dayOf(start(0)), to: back === 0 ? today : dayOf(start(count) - dayMs) };
}

/** The ranges that one click chooses. */
export function presets(today: string): readonly (DayRange & { readonly label: string })[] {
  return [
    ...[7, 30, 90, 365].map((count) => ({ label: `${count} days`, ...lastDays(count, today) })),
    { label: 'This month', ...monthsOf(1, 0, today) },
    { label: 'Last month', ...monthsOf(1, 1, today) },
    { label: 'This quarter', ...monthsOf(3, 0, today) },
    { label: 'Last quarter', ...monthsOf(3, 1, today) },
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
