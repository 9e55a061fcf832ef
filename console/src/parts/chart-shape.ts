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

/** The two ends of an axis. */
export interface Axis {
  readonly min: number;
  readonly max: number;
}

/**
 * An axis for values. It begins at 0. If a value is below 0, it has the same length on both sides of 0, so that 0 is
 * its middle.
 */
export function axisOf(values: readonly (number | null)[]): Axis {
  const numbers = values.map((value) => value ?? 0);
  const max = axisEnd(Math.max(...numbers.map(Math.abs), 0));
  return { min: numbers.some((value) => value < 0) ? -max : 0, max };
}

/** A round number that is at least as large as the value. Its half is a round number too. */
function axisEnd(max: number): number {
  if (max <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(max / 2));
  const step = roundSteps.find((one) => 2 * one * power >= max) ?? 10;
  return 2 * Math.ceil(step * power);
}

/** One bar for each value, from 0 on. */
export function barsOf(values: readonly number[], axis: Axis): readonly Bar[] {
  const step = chartWidth / Math.max(values.length, 1);
  const zero = heightOf(0, axis);
  return values.map((value, index) => {
    const end = heightOf(value, axis);
    const [y, height] = [Math.min(zero, end), Math.abs(zero - end)];
    return { x: (index + gap / 2) * step, y, width: step * (1 - gap), height };
  });
}

/** The place of a value, from the top. */
function heightOf(value: number, { min, max }: Axis): number {
  return ((max - value) / (max - min)) * chartHeight;
}

/** A line needs two points. A single one, as on the first day, is a line of this width. */
const dash = 12;

/** The points of a line through the values. Null is a gap: nothing is drawn there. */
export function lineOf(values: readonly (number | null)[], axis: Axis): string {
  const step = chartWidth / Math.max(values.length - 1, 1);
  let isGap = true;
  return values
    .flatMap((value, index) => {
      if (value === null) {
        isGap = true;
        return [];
      }
      const y = round(heightOf(value, axis));
      const isAlone = isGap && (values[index + 1] ?? null) === null;
      const command = isGap ? 'M' : 'L';
      isGap = false;
      return [`${command}${round(index * step)} ${y}${isAlone ? ` h${index === 0 ? dash : -dash}` : ''}`];
    })
    .join(' ');
}

const round = (value: number) => Math.round(value * 10) / 10;
