import { timeZone } from './time-zone.ts';

const inZone = { timeZone: timeZone.name } as const;
const timeFormat = new Intl.DateTimeFormat(undefined, { ...inZone, dateStyle: 'medium', timeStyle: 'short' });
const exactFormat = new Intl.DateTimeFormat(undefined, { ...inZone, dateStyle: 'long', timeStyle: 'long' });
const dayFormat = new Intl.DateTimeFormat(undefined, { ...inZone, dateStyle: 'medium' });

/** In the time zone of the installation. */
export function localTime(value: string): string {
  return timeFormat.format(new Date(value));
}

export function localDay(value: string): string {
  return dayFormat.format(new Date(value));
}

const dayAndMonth = { ...inZone, day: 'numeric', month: 'long' } as const;
const withoutYear = new Intl.DateTimeFormat(undefined, dayAndMonth);
const withYear = new Intl.DateTimeFormat(undefined, { ...dayAndMonth, year: 'numeric' });

/** A day within a sentence: `3 December`, with the year if it is another one. */
export function dayText(value: string): string {
  const yearOf = (timeMs: number) => timeZone.dayOf(timeMs).slice(0, 'YYYY'.length);
  const isThisYear = yearOf(Date.parse(value)) === yearOf(Date.now());
  return (isThisYear ? withoutYear : withYear).format(new Date(value));
}

/** To the second, with the time zone. */
export function exactTime(value: string): string {
  return exactFormat.format(new Date(value));
}
