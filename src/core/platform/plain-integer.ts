const plainInteger = /^(0|-?[1-9]\d*)$/;

/**
 * Parses an integer written in decimal digits. Returns undefined for anything else that `Number` accepts (`1e400`,
 * `0x10`, ` 1`, an empty text), and for an integer too large for a finite number.
 */
export function parsePlainInteger(text: string): number | undefined {
  const value = plainInteger.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}
