import type { Entitlements, MeterUsage } from '@till/client';
import { type Resource, useResource } from '../../api/use-resource.ts';
import { Chart } from '../../parts/chart.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Section } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { lastDays } from './usage-days.ts';

type Row = MeterUsage & { readonly meter: string };

const number = (value: number) => value.toLocaleString('en');

const columns: readonly Column<Row>[] = [
  { header: 'Meter', cell: ({ meter }) => meter },
  { header: 'Used', cell: ({ used }) => number(used), isNumber: true },
  {
    header: 'Limit',
    cell: ({ limit }) => (limit === null ? 'Unlimited' : number(limit)),
    isNumber: true,
  },
  {
    header: 'Left',
    cell: ({ remaining }) => (remaining === null ? '' : number(remaining)),
    isNumber: true,
  },
  { header: 'Counted since', cell: ({ periodStart }) => <Time value={periodStart} isExact /> },
  { header: 'Until', cell: ({ periodEnd }) => <Time value={periodEnd} isExact /> },
];

/** What the customer has used of each meter in its current window, and on each of the last days. */
export function UsageSection({
  customerId,
  entitlements,
}: {
  readonly customerId: string;
  readonly entitlements: Resource<Entitlements>;
}) {
  const rows = Object.entries(entitlements.value?.usage ?? {}).map(([meter, usage]) => ({ meter, ...usage }));
  if (rows.length === 0) return null;
  return (
    <Section title="Usage">
      <DataTable caption="What is used and left" columns={columns} rows={rows} keyOf={({ meter }) => meter} />
      {rows
        // A meter that no plan of the customer grants, and that was not used, has nothing to show.
        .filter(({ used, limit }) => used !== 0 || limit !== 0)
        .map(({ meter }) => (
          <UsageChart key={meter} customerId={customerId} meter={meter} />
        ))}
    </Section>
  );
}

function UsageChart({ customerId, meter }: { readonly customerId: string; readonly meter: string }) {
  const totals = useResource(
    (options) => till().usage.totals({ customerId, meter }, options),
    [customerId, meter],
  );
  return (
    <Show resource={totals}>
      {(days) => (
        <Chart
          title={`${meter} per day (UTC)`}
          kind="bars"
          format={number}
          points={lastDays(days, new Date()).map(({ date, quantity }) => ({
            label: date,
            value: quantity,
            text: number(quantity),
          }))}
        />
      )}
    </Show>
  );
}
