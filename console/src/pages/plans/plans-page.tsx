import type { Plan } from '@till/client';
import { useLocation } from 'preact-iso';
import { useResource } from '../../api/use-resource.ts';
import { ExportButton } from '../../exports/export-button.tsx';
import { price } from '../../format/interval.ts';
import { plural } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import { CreateButton } from '../../parts/create-button.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { type Filter, Filters, filterValues } from '../../parts/filters.tsx';
import { Page } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { CreatePlan } from './create-plan.tsx';

const filters: readonly Filter[] = [{ kind: 'flag', name: 'activeOnly', label: 'Active only' }];

const columns: readonly Column<Plan>[] = [
  { header: 'Name', cell: ({ id, name }) => <a href={pageOf('plan', id)}>{name}</a> },
  { header: 'Price', cell: (plan) => <span class="number">{price(plan)}</span> },
  { header: 'Sold as', cell: soldAs, isMinor: true },
  { header: 'Group', cell: ({ group }) => group ?? none, isMinor: true },
  { header: 'State', cell: ({ active }) => <PlanState active={active} /> },
  { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
];

export function PlanState({ active }: { readonly active: boolean }) {
  return <Status value={active ? 'active' : 'archived'} />;
}

export function soldAs({ addOn, group, repeatable }: Pick<Plan, 'addOn' | 'group' | 'repeatable'>): string {
  if (addOn) return 'Add-on';
  return group === null && repeatable ? 'Main plan, repeatable' : 'Main plan';
}

/** The API lists all plans at once: a company has few of them. */
export function PlansPage() {
  const values = filterValues(filters, useLocation().query);
  const plans = useResource(
    (options) => till().plans.list(values, options),
    [values],
    ({ objectType }) => objectType === 'plan',
  );
  return (
    <Page
      title="Plans"
      actions={
        <>
          <CreateButton label="Create plan" Dialog={CreatePlan} />
          <ExportButton path="/api/v1/plans" query={values} />
        </>
      }
    >
      <Filters filters={filters} />
      <Show resource={plans}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>{Object.keys(values).length > 0 ? 'No plan matches.' : 'No plan yet.'}</Empty>
          ) : (
            <>
              <DataTable caption="Plans" columns={columns} rows={rows} keyOf={({ id }) => id} />
              <div class="paging">
                <span class="quiet">{plural(rows.length, 'plan')}</span>
              </div>
            </>
          )
        }
      </Show>
    </Page>
  );
}
