import type { ComponentChildren } from 'preact';
import { axisMax, barsOf, chartHeight, chartWidth, lineOf } from './chart-shape.ts';
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
  const largest = points.reduce<Point | undefined>(
    (best, point) => ((point.value ?? 0) > (best?.value ?? 0) ? point : best),
    undefined,
  );
  const max = axisMax(points.map(({ value }) => value));
  const middle = points[Math.floor((points.length - 1) / 2)];
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong> {note}
      </figcaption>
      <div class="chart-plot">
        <p class="chart-axis" aria-hidden="true">
          {[max, max / 2, 0].map((value) => (
            <span key={value}>{format(value)}</span>
          ))}
        </p>
        <svg
          viewBox={`0 0 ${chartWidth} ${chartHeight}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}. ${largest === undefined ? 'Nothing in these days.' : `Highest: ${largest.text} on ${largest.label}.`} The table below has all values.`}
        >
          <path class="chart-grid" d={`M0 0 H${chartWidth} M0 ${chartHeight / 2} H${chartWidth}`} />
          {kind === 'line' ? (
            <path
              class="chart-line"
              d={lineOf(
                points.map(({ value }) => value),
                max,
              )}
            />
          ) : (
            barsOf(
              points.map(({ value }) => value ?? 0),
              max,
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
