import { isTimeZone, TimeZone, utcName } from '../../../src/core/platform/time-zone.ts';

// Tests of formats run without a page.
const given = globalThis.document?.documentElement.dataset['timeZone'] ?? '';

/**
 * The time zone of the installation, in which the console shows and reads all times, whatever that of the browser is. A
 * browser that is too old to know it uses UTC, and says so.
 */
export const timeZone = new TimeZone(isTimeZone(given) ? given : utcName);

/** The name of an input for a time or a day. */
export function withZone(label: string): string {
  return `${label} (${timeZone.name})`;
}

/** An instant as an input for local times shows it, to the minute. Empty if it is none. */
export function toLocal(instant: string): string {
  const timeMs = Date.parse(instant);
  const local = Number.isNaN(timeMs) ? '' : timeZone.localOf(timeMs);
  return /^\d{4}-/.test(local) ? local : '';
}

/** The instant that such an input means. Empty if it is incomplete. */
export function toInstant(local: string): string {
  const timeMs = timeZone.timeOf(local);
  return Number.isNaN(timeMs) ? '' : new Date(timeMs).toISOString();
}
