import type { Entitlement, Entitlements, Plan } from '@till/client';
import { planOf, usePlans } from '../../api/use-plans.ts';
import type { Resource } from '../../api/use-resource.ts';
import { readable } from '../../format/readable.ts';
import { pageOf } from '../../links.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Fields } from '../../parts/fields.tsx';
import { Section } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { Time } from '../../parts/values.tsx';
import { entitlementText } from '../subscriptions/terms.ts';

/** The features that the customer may use now, why, and until when. */
export function EntitlementSection({ entitlements }: { readonly entitlements: Resource<Entitlements> }) {
  const plans = usePlans();
  return (
    <Section title="Entitlement">
      <Show resource={entitlements}>
        {({ entitled, until, features, subscriptions }) => (
          <>
            <p class="summary">
              <EntitledStatus entitled={entitled} />{' '}
              {entitled
                ? until !== null && (
                    <>
                      until <Time value={until} isExact />, unless a subscription renews or changes before
                    </>
                  )
                : 'No subscription gives access now.'}
            </p>
            <DataTable
              caption="What each subscription contributes"
              empty="The customer never had a subscription."
              columns={columns(plans.value)}
              rows={subscriptions}
              keyOf={({ subscriptionId }) => subscriptionId}
            />
            {Object.keys(features).length > 0 && <Features of={features} />}
          </>
        )}
      </Show>
    </Section>
  );
}

export function EntitledStatus({ entitled }: { readonly entitled: boolean }) {
  return entitled ? <Status value="entitled" tone="good" /> : <Status value="not_entitled" tone="done" />;
}

function columns(plans: readonly Plan[] | undefined): readonly Column<Entitlement>[] {
  return [
    {
      header: 'Subscription',
      cell: ({ subscriptionId, planId, addOnPlanIds }) => (
        <a href={pageOf('subscription', subscriptionId)}>
          {[planId, ...addOnPlanIds].map((id) => planOf(plans, id)?.name ?? subscriptionId).join(' + ')}
        </a>
      ),
    },
    {
      header: 'Gives access, and why',
      cell: (entitlement) => entitlementText({ ...entitlement, until: null }),
    },
    { header: 'Until', cell: ({ until }) => <Time value={until} isExact /> },
  ];
}

function Features({ of }: { readonly of: Entitlements['features'] }) {
  return (
    <>
      <h3>Features</h3>
      <Fields of={Object.entries(of).map(([name, value]) => [name, readable(name, value)] as const)} />
    </>
  );
}
