/** How a number differs from the one of the period before: +12% from €5.00. */
export function comparison(value: number, before: number, text: (value: number) => string): string {
  if (value === before) return `The same as before: ${text(before)}.`;
  if (before === 0) return `${text(before)} before.`;
  const change = new Intl.NumberFormat(undefined, {
    ...{ style: 'percent', maximumFractionDigits: 1, signDisplay: 'exceptZero' },
  }).format((value - before) / Math.abs(before));
  return `${change} from ${text(before)} before.`;
}

/** A share as people read it. Null: there is none. */
export function percent(share: number | null): string {
  if (share === null) return '—';
  return new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 }).format(share);
}
