/** A moment in microseconds since 1970, which is PostgreSQL's precision. A `Date` has only milliseconds. */
export type Instant = bigint;

const pattern = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;
/** The form in which `Date` and most programs write times. `Date` reads such a time without rounding it. */
const plainPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{3})?Z$/;
const microsPerMs = 1_000n;
const microsPerMinute = 60_000_000n;
const fractionDigits = 6;

/** The years 1 to 9999: PostgreSQL and JSON write other years differently. */
const instantMin = BigInt(Date.parse('0001-01-01T00:00:00Z')) * microsPerMs;
const instantMax = BigInt(Date.parse('9999-12-31T23:59:59Z')) * microsPerMs + 999_999n;

/** Parses an RFC 3339 time. By default, a finer fraction is rounded up, so that `createdAt >= time` stays exact. */
export function parseInstant(text: string, rounding: 'up' | 'down' = 'up'): Instant | undefined {
  const utcMs = plainPattern.test(text) ? Date.parse(text) : Number.NaN;
  // `Date` accepts the 30th of February and 24:00, as times of a later day.
  if (new Date(utcMs).getUTCDate() === Number(text.slice(8, 10))) {
    const plain = BigInt(utcMs) * microsPerMs;
    return isInstant(plain) ? plain : undefined;
  }
  return parseAnyInstant(text, rounding);
}

function parseAnyInstant(text: string, rounding: 'up' | 'down'): Instant | undefined {
  const [, date = '', time = '', fraction = '', sign, hours = '0', minutes = '0'] = pattern.exec(text) ?? [];
  const utcMs = Date.parse(`${date}T${time}Z`);
  if (Number.isNaN(utcMs) || new Date(utcMs).getUTCDate() !== Number(date.slice(8, 10))) return undefined;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const offset = BigInt(Number(hours) * 60 + Number(minutes)) * microsPerMinute;
  const micros = BigInt(fraction.padEnd(fractionDigits, '0').slice(0, fractionDigits));
  const added = rounding === 'up' && /[1-9]/.test(fraction.slice(fractionDigits)) ? 1n : 0n;
  const instant = BigInt(utcMs) * microsPerMs + micros + added + (sign === '-' ? offset : -offset);
  return isInstant(instant) ? instant : undefined;
}

export function instantOfDate(time: Date): Instant {
  return BigInt(time.getTime()) * microsPerMs;
}

/** The time of an instant as a `Date`, rounded down to the millisecond. */
export function dateOfInstant(instant: Instant): Date {
  return new Date(Number(instant / microsPerMs));
}

export function isInstant(micros: bigint): boolean {
  return micros >= instantMin && micros <= instantMax;
}

/** The one text of an instant, in UTC with six digits, as PostgreSQL reads it. */
export function instantText(instant: Instant): string {
  const micros = ((instant % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = Number((instant - micros) / 1_000_000n);
  const text = new Date(seconds * 1_000).toISOString().slice(0, -'.000Z'.length);
  return `${text}.${String(micros).padStart(fractionDigits, '0')}Z`;
}
