/** The days that the overview shows, both inclusive and in UTC, as its numbers are. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

const dayMs = 86_400_000;

const dayOf = (timeMs: number) => new Date(timeMs).toISOString().slice(0, 10);

/** The last days up to today. */
export function lastDays(count: number, now: Date): DayRange {
  return { from: dayOf(now.getTime() - (count - 1) * dayMs), to: dayOf(now.getTime()) };
}

/** The filters of lists whose rows were created in these days. */
export function createdIn({ from, to }: DayRange): Readonly<Record<string, string>> {
  return {
    createdAfter: `${from}T00:00:00.000Z`,
    createdBefore: `${dayOf(Date.parse(to) + dayMs)}T00:00:00.000Z`,
  };
}
