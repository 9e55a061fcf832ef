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

/** To the second, with the time zone. */
export function exactTime(value: string): string {
  return exactFormat.format(new Date(value));
}
