const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const exactFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'long', timeStyle: 'long' });
const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

/** In the time zone of the reader. */
export function localTime(value: string): string {
  return timeFormat.format(new Date(value));
}

export function localDay(value: string): string {
  return dayFormat.format(new Date(value));
}

const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long' });
const dayAndYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long', year: 'numeric' });

/** A day within a sentence: `3 December`, with the year if it is another one. */
export function dayText(value: string): string {
  const day = new Date(value);
  const isThisYear = day.getFullYear() === new Date().getFullYear();
  return (isThisYear ? dayAndMonth : dayAndYear).format(day);
}

/** To the second, with the time zone. */
export function exactTime(value: string): string {
  return exactFormat.format(new Date(value));
}
