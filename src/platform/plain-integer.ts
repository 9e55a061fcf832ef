const plainInteger = /^(0|-?[1-9]\d*)$/;

/**
 * The integer that a text says in decimal digits. Anything else that `Number` would understand (`1e400`, `0x10`, ` 1`, an empty
 * text) is undefined, as is an integer too large for a finite number.
 */
export function parsePlainInteger(text: string): number | undefined {
  const value = plainInteger.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}
