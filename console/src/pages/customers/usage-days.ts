interface DayTotal {
  readonly date: string;
  readonly quantity: number;
}

/** As many as the API shows by default. */
const dayCount = 30;
const dayMs = 86_400_000;

/**
 * The last days in UTC, oldest first, with 0 for those without usage. They end today, or with the last day that has
 * usage: the clock of a sandbox may be ahead of the browser's.
 */
export function lastDays(totals: readonly DayTotal[], now: Date): readonly DayTotal[] {
  const lastMs = totals.reduce((last, { date }) => Math.max(last, Date.parse(date)), now.getTime());
  const quantities = new Map(totals.map(({ date, quantity }) => [date, quantity]));
  return Array.from({ length: dayCount }, (_, index) => {
    const date = new Date(lastMs - (dayCount - 1 - index) * dayMs).toISOString().slice(0, 10);
    return { date, quantity: quantities.get(date) ?? 0 };
  });
}
