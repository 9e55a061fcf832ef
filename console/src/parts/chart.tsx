import type { ComponentChildren } from 'preact';
import { axisOf, barsOf, chartHeight, chartWidth, lineOf } from './chart-shape.ts';
import { type Column, DataTable } from './data-table.tsx';

export interface Point {
  /** The day, or the days. */
  readonly label: string;
  /** Null: not known. */
  readonly value: number | null;
  /** The value as people read it. */
  readonly text: string;
}

/** A small chart of values over time, with axes, and with the same values as a table. */
export function Chart<Row extends Point>({
  title,
  kind,
  points,
  format,
  columns = [],
  note,
}: {
  readonly title: string;
  readonly kind: 'bars' | 'line';
  readonly points: readonly Row[];
  /** A value of the axis as people read it. */
  readonly format: (value: number) => string;
  /** More columns of the table. */
  readonly columns?: readonly Column<Row>[];
  readonly note?: ComponentChildren;
}) {
  const axis = axisOf(points.map(({ value }) => value));
  const middle = points[Math.floor((points.length - 1) / 2)];
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong> {note}
      </figcaption>
      <div class="chart-plot">
        <p class="chart-axis" aria-hidden="true">
          {[axis.max, (axis.max + axis.min) / 2, axis.min].map((value) => (
            <span key={value}>{format(value)}</span>
          ))}
        </p>
        <svg
          viewBox={`0 0 ${chartWidth} ${chartHeight}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}. ${describeExtremes(points)} The table below has all values.`}
        >
          <path class="chart-grid" d={`M0 0 H${chartWidth} M0 ${chartHeight / 2} H${chartWidth}`} />
          {kind === 'line' ? (
            <path
              class="chart-line"
              d={lineOf(
                points.map(({ value }) => value),
                axis,
              )}
            />
          ) : (
            barsOf(
              points.map(({ value }) => value ?? 0),
              axis,
            ).map((bar, index) => (
              <rect key={points[index]?.label} class="chart-bar" {...bar}>
                <title>{`${points[index]?.label}: ${points[index]?.text}`}</title>
              </rect>
            ))
          )}
        </svg>
        <p class="chart-ends" aria-hidden="true">
          <span>{points[0]?.label}</span>
          {points.length > 2 && <span>{middle?.label}</span>}
          {points.length > 1 && <span>{points.at(-1)?.label}</span>}
        </p>
      </div>
      <details>
        <summary>{title} as a table</summary>
        <DataTable
          caption={title}
          rows={points}
          keyOf={({ label }) => label}
          columns={[
            { header: 'Day', cell: ({ label }) => label },
            ...columns,
            { header: title, cell: ({ text }) => text, isNumber: true },
          ]}
        />
      </details>
    </figure>
  );
}

/** The highest value, and the lowest one if it is below zero. */
function describeExtremes(points: readonly Point[]): string {
  const known = points
    .map(({ value, ...point }) => ({ ...point, value: value ?? 0 }))
    .toSorted((a, b) => b.value - a.value);
  const [highest, lowest] = [known[0], known.at(-1)];
  const parts = [
    ...(highest !== undefined && highest.value > 0 ? [`Highest: ${highest.text} on ${highest.label}.`] : []),
    ...(lowest !== undefined && lowest.value < 0 ? [`Lowest: ${lowest.text} on ${lowest.label}.`] : []),
  ];
  return parts.length === 0 ? 'Nothing in these days.' : parts.join(' ');
}
