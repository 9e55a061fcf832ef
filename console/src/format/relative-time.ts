const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
/** Further away, a date says more than a number of days. */
const relativeDaysMax = 7;

const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** `3 hours ago`, `in 2 days`. Undefined more than a week away. */
export function relativeTime(value: string, nowMs: number): string | undefined {
  const seconds = (Date.parse(value) - nowMs) / 1_000;
  const distance = Math.abs(seconds);
  if (!(distance < relativeDaysMax * 86_400)) return undefined;
  for (const [unit, length] of units)
    if (distance >= length) return format.format(Math.trunc(seconds / length), unit);
  // The clocks of the server and of the reader differ a little.
  return 'now';
}
