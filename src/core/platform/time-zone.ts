import { dayOf, dayOfIso } from './day.ts';

/** The offset of a time zone from UTC changes only at multiples of this, since long before the first payment. */
const slotMs = 15 * 60_000;
/** Ninety days. Consecutive lookups are mostly for the same days. */
const slotsMax = 90 * 96;
/** A day of a time zone begins at most this long before or after the day in UTC. */
const offsetMsMax = 16 * 3_600_000;
const minuteMs = 60_000;
/** The last day and the last time that the API can write. */
const lastDay = '9999-12-31';
const lastMs = Date.parse(`${lastDay}T23:59:59.999Z`);
/** Only names of the IANA database. PostgreSQL reads the sign of an offset such as `+01:00` the other way round. */
const namePattern = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;

/** Whether a text is the name of a time zone. The first use of `Intl` takes 40 ms, which a start with UTC saves. */
export function isTimeZone(name: string): boolean {
  if (name === utcName) return true;
  if (!namePattern.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The days of a time zone. */
export class TimeZone {
  readonly name: string;
  readonly #isUtc: boolean;
  #format: Intl.DateTimeFormat | undefined;
  readonly #offsetsMs = new Map<number, number>();

  constructor(name: string) {
    this.name = name;
    this.#isUtc = name === utcName;
  }

  /** The day of a time. */
  dayOf(timeMs: number): string {
    return dayOf(timeMs + this.#offsetMs(timeMs));
  }

  /** The day of a time in ISO 8601, in UTC, as the API writes times. */
  dayOfIso(time: string): string {
    return this.#isUtc ? dayOfIso(time) : this.dayOf(Date.parse(time));
  }

  /** The first time of a day. It is not always midnight: in some zones clocks go forward at midnight. */
  startOf(day: string): number {
    const utcMs = Date.parse(day);
    if (this.#isUtc) return utcMs;
    let [before, from] = [-offsetMsMax / minuteMs, offsetMsMax / minuteMs];
    while (from - before > 1) {
      const between = Math.floor((before + from) / 2);
      if (this.dayOf(utcMs + between * minuteMs) >= day) from = between;
      else before = between;
    }
    return utcMs + from * minuteMs;
  }

  /** The first time after a day. */
  endOf(day: string): number {
    return day === lastDay ? lastMs : this.startOf(dayOf(Date.parse(day) + 86_400_000));
  }

  /** What clocks show at a time, to the minute: `2026-03-29T03:00`. */
  localOf(timeMs: number): string {
    return new Date(timeMs + this.#offsetMs(timeMs)).toISOString().slice(0, 'YYYY-MM-DDTHH:mm'.length);
  }

  /**
   * The first time at which local clocks show this. If they skip it, the time at which they do so. NaN if the text is
   * not a local time.
   */
  timeOf(local: string): number {
    const localMs = Date.parse(`${local}Z`);
    if (Number.isNaN(localMs)) return localMs;
    const around = [localMs - offsetMsMax, localMs + offsetMsMax].map((timeMs) => this.#offsetMs(timeMs));
    // The greater offset gives the earlier time.
    let [before, from] = [localMs - Math.max(...around), localMs - Math.min(...around)];
    if (before + this.#offsetMs(before) === localMs) return before;
    while (from - before > minuteMs) {
      const between = before + Math.floor((from - before) / 2 / minuteMs) * minuteMs;
      if (between + this.#offsetMs(between) >= localMs) from = between;
      else before = between;
    }
    return from;
  }

  #offsetMs(timeMs: number): number {
    if (this.#isUtc) return 0;
    const slot = Math.floor(timeMs / slotMs);
    const known = this.#offsetsMs.get(slot);
    if (known !== undefined) return known;
    if (this.#offsetsMs.size >= slotsMax) this.#offsetsMs.clear();
    const offsetMs = this.#readOffset(slot * slotMs);
    this.#offsetsMs.set(slot, offsetMs);
    return offsetMs;
  }

  #readOffset(timeMs: number): number {
    this.#format ??= new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: this.name, hourCycle: 'h23', era: 'short' },
      ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    });
    const parts = Object.fromEntries(
      this.#format.formatToParts(timeMs).map(({ type, value }) => [type, value]),
    );
    const part = (name: string) => Number(parts[name]);
    const local = new Date(0);
    local.setUTCFullYear(
      parts['era'] === 'BC' ? 1 - part('year') : part('year'),
      part('month') - 1,
      part('day'),
    );
    local.setUTCHours(part('hour'), part('minute'), part('second'));
    return local.getTime() - timeMs;
  }
}

export const utcName = 'UTC';
