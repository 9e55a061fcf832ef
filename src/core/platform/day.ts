const length = 'YYYY-MM-DD'.length;
const pattern = /^\d{4}-\d{2}-\d{2}$/;

/** The first day that PostgreSQL and JavaScript write alike. */
export const firstDay = '0001-01-01';

/** Whether a text is a day of the calendar, in the format YYYY-MM-DD. */
export function isDay(text: string): boolean {
  if (!pattern.test(text) || text < firstDay) return false;
  const timeMs = Date.parse(text);
  return !Number.isNaN(timeMs) && dayOf(timeMs) === text;
}

/** The UTC day of a time in ISO 8601, as the API writes times. */
export function dayOfIso(time: string): string {
  return time.slice(0, length);
}

/** The UTC day of a time. */
export function dayOf(timeMs: number): string {
  return dayOfIso(new Date(timeMs).toISOString());
}
