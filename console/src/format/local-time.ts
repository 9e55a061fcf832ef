const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

/** In the time zone of the reader. */
export function localTime(value: string): string {
  return timeFormat.format(new Date(value));
}

export function localDay(value: string): string {
  return dayFormat.format(new Date(value));
}
