import type { ComponentChildren } from 'preact';
import { barsOf, chartHeight, chartWidth, lineOf } from './chart-shape.ts';
import { DataTable } from './data-table.tsx';

export interface Point {
  /** The day. */
  readonly label: string;
  /** Null: not known. */
  readonly value: number | null;
  /** The value as people read it. */
  readonly text: string;
}

/** A small chart of values per day, with the same values as a table. */
export function Chart({
  title,
  kind,
  points,
  note,
}: {
  readonly title: string;
  readonly kind: 'bars' | 'line';
  readonly points: readonly Point[];
  readonly note?: ComponentChildren;
}) {
  const largest = points.reduce<Point | undefined>(
    (best, point) => ((point.value ?? 0) > (best?.value ?? 0) ? point : best),
    undefined,
  );
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong> {note}
      </figcaption>
      <svg
        viewBox={`0 0 ${chartWidth} ${chartHeight}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}. ${largest === undefined ? 'Nothing in these days.' : `Highest: ${largest.text} on ${largest.label}.`} The table below has all values.`}
      >
        {kind === 'line' ? (
          <path class="chart-line" d={lineOf(points.map(({ value }) => value))} />
        ) : (
          barsOf(points.map(({ value }) => value ?? 0)).map((bar, index) => (
            <rect key={points[index]?.label} class="chart-bar" {...bar}>
              <title>{`${points[index]?.label}: ${points[index]?.text}`}</title>
            </rect>
          ))
        )}
      </svg>
      <p class="chart-ends" aria-hidden="true">
        <span>{points[0]?.label}</span>
        <span>{points.at(-1)?.label}</span>
      </p>
      <details>
        <summary>{title} as a table</summary>
        <DataTable
          caption={title}
          rows={points}
          keyOf={({ label }) => label}
          columns={[
            { header: 'Day (UTC)', cell: ({ label }) => label },
            { header: title, cell: ({ text }) => text, isNumber: true },
          ]}
        />
      </details>
    </figure>
  );
}
