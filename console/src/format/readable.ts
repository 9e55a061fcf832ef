import { localTime } from './local-time.ts';
import { money } from './money.ts';
import { fieldLabel, words } from './words.ts';

/** Fields whose values are codes, which are read as words. */
const codes = new Set(['status', 'reason', 'type', 'brand', 'interval', 'declineCode']);
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

export function isInstant(value: unknown): value is string {
  return typeof value === 'string' && instant.test(value);
}

/**
 * The value of an object's field as text. An amount needs the currency, which is a field of the same object or of the
 * one that contains it.
 */
export function readable(name: string, value: unknown, currency?: string): string {
  if (value === null || value === undefined || value === '') return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number')
    return name.startsWith('amount') && currency !== undefined ? money(value, currency) : String(value);
  if (Array.isArray(value)) return value.map((entry) => readable(name, entry, currency)).join(', ') || 'none';
  if (typeof value === 'object') return readableFields(value, currency);
  if (isInstant(value)) return localTime(value);
  return codes.has(name) ? words(String(value)) : String(value);
}

/** Fields without a value say nothing. */
function readableFields(value: object, outer: string | undefined): string {
  const currency = 'currency' in value && typeof value.currency === 'string' ? value.currency : outer;
  const parts = Object.entries(value).flatMap(([name, entry]) =>
    entry === null || name === 'currency' ? [] : [`${fieldLabel(name)}: ${readable(name, entry, currency)}`],
  );
  return parts.join(', ') || 'none';
}
