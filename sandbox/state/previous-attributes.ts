import { isDeepStrictEqual } from 'node:util';

/**
 * The `previous_attributes` of an `*.updated` event: the attributes that differ, with their previous values. A nested
 * object shows only its differing attributes. An array is shown in full. Returns null if nothing differs.
 */
export function previousAttributes(before: object, after: object): Record<string, unknown> | null {
  const then = new Map<string, unknown>(Object.entries(before));
  const now = new Map<string, unknown>(Object.entries(after));
  const previous: Record<string, unknown> = {};
  for (const key of new Set([...then.keys(), ...now.keys()])) {
    const old = then.get(key);
    const current = now.get(key);
    if (old === current || isDeepStrictEqual(old, current)) continue;
    previous[key] = isPlain(old) && isPlain(current) ? previousAttributes(old, current) : (old ?? null);
  }
  return Object.keys(previous).length === 0 ? null : previous;
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
