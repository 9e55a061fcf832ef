/** Both sides of every chart, in its own units: the page scales it. */
export const chartWidth = 1_000;
export const chartHeight = 200;
/** A share of the width of a bar. */
const gap = 0.2;

interface Bar {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** One bar for each value. A value below zero has none. */
export function barsOf(values: readonly number[]): readonly Bar[] {
  const step = chartWidth / Math.max(values.length, 1);
  const max = Math.max(...values, 1);
  return values.map((value, index) => {
    const height = (Math.max(value, 0) / max) * chartHeight;
    return { x: (index + gap / 2) * step, y: chartHeight - height, width: step * (1 - gap), height };
  });
}

/** A line needs two points. A single one, as on the first day, is a line of this width. */
const dash = 12;

/** The points of a line through the values. Null is a gap: nothing is drawn there. */
export function lineOf(values: readonly (number | null)[]): string {
  const step = chartWidth / Math.max(values.length - 1, 1);
  const max = Math.max(...values.map((value) => value ?? 0), 1);
  let isGap = true;
  return values
    .flatMap((value, index) => {
      if (value === null) {
        isGap = true;
        return [];
      }
      const y = round(chartHeight - (value / max) * chartHeight);
      const isAlone = isGap && (values[index + 1] ?? null) === null;
      const command = isGap ? 'M' : 'L';
      isGap = false;
      return [`${command}${round(index * step)} ${y}${isAlone ? ` h${index === 0 ? dash : -dash}` : ''}`];
    })
    .join(' ');
}

const round = (value: number) => Math.round(value * 10) / 10;
