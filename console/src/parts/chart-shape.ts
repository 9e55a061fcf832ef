/** Both sides of every chart, in its own units: the page scales it. */
export const chartWidth = 1_000;
export const chartHeight = 200;
/** A share of the width of a bar. */
const gap = 0.2;
/** The steps of an axis that people read easily, within a power of ten. */
const roundSteps = [1, 2, 2.5, 5, 10];

interface Bar {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The end of the axis: a round number that is at least as large as every value. Its half is a round number too. */
export function axisMax(values: readonly (number | null)[]): number {
  const max = Math.max(...values.map((value) => value ?? 0), 0);
  if (max <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(max / 2));
  const step = roundSteps.find((one) => 2 * one * power >= max) ?? 10;
  return 2 * Math.ceil(step * power);
}

/** One bar for each value, up to the end of the axis. A value below zero has none. */
export function barsOf(values: readonly number[], max: number): readonly Bar[] {
  const step = chartWidth / Math.max(values.length, 1);
  return values.map((value, index) => {
    const height = (Math.max(value, 0) / max) * chartHeight;
    return { x: (index + gap / 2) * step, y: chartHeight - height, width: step * (1 - gap), height };
  });
}

/** A line needs two points. A single one, as on the first day, is a line of this width. */
const dash = 12;

/** The points of a line through the values. Null is a gap: nothing is drawn there. */
export function lineOf(values: readonly (number | null)[], max: number): string {
  const step = chartWidth / Math.max(values.length - 1, 1);
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
