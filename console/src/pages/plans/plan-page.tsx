import type { Plan } from '@till/client';
import { useRoute } from 'preact-iso';
import { useResource } from '../../api/use-resource.ts';
import { price } from '../../format/interval.ts';
import { plural } from '../../format/words.ts';
import { listOf } from '../../links.ts';
import { type Action, Actions } from '../../parts/actions.tsx';
import { Fields, Metadata } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { Timeline } from '../../parts/timeline.tsx';
import { AtProcessor, Id, none, Time } from '../../parts/values.tsx';
import { can, till } from '../../session.ts';
import { ArchivePlan } from './archive-plan.tsx';
import { EditPlan } from './edit-plan.tsx';
import { PlanState, soldAs } from './plans-page.tsx';

export function PlanPage() {
  const { id = '' } = useRoute().params;
  const plan = useResource(
    (options) => till().plans.get(id, options),
    [id],
    ({ objectId }) => objectId === id,
  );
  return (
    <Show resource={plan} heading="Plan">
      {(value) => (
        <Page
          title={value.name}
          aside={<PlanState active={value.active} />}
          actions={<Actions of={actions} about={{ plan: value }} onActed={plan.reload} />}
        >
          <Details plan={value} />
          <Timeline of={{ objectId: id }} />
        </Page>
      )}
    </Show>
  );
}

const actions: readonly Action<{ readonly plan: Plan }>[] = [
  { label: 'Edit', Dialog: EditPlan, isPossible: () => can('write') },
  { label: 'Archive', Dialog: ArchivePlan, isPossible: ({ plan }) => can('write') && plan.active },
];

function Details({ plan }: { readonly plan: Plan }) {
  return (
    <Section title="Details">
      <Fields
        of={[
          ['Price', price(plan)],
          ['Sold as', soldAs(plan)],
          ['Group', plan.addOn ? undefined : (plan.group ?? none)],
          ['Subscriptions', <Subscriptions plan={plan} />],
          ['Features', <Metadata of={plan.features} />],
          ['Created', <Time value={plan.createdAt} />],
          ['Updated', <Time value={plan.updatedAt} />],
          ['Id', <Id value={plan.id} />],
          ['Product at the processor', <AtProcessor section="product" id={plan.processorProductId} />],
          ['Price at the processor', <Id value={plan.processorPriceId} />],
          ['Metadata', <Metadata of={plan.metadata} />],
        ]}
      />
    </Section>
  );
}

/** How many subscriptions the plan has or had, and where they are. */
function Subscriptions({ plan: { id, addOn } }: { readonly plan: Plan }) {
  const filter = addOn ? { addOnPlanId: id } : { planId: id };
  const { value } = useResource(
    (options) =>
      till()
        .subscriptions.list({ ...filter, limit: 1 }, options)
        .page(),
    [id, addOn],
    ({ objectType, data }) => objectType === 'subscription' && (addOn || data.planId === id),
  );
  const { total, totalCapped = false } = value ?? {};
  return (
    <a href={listOf('subscription', filter)}>
      {total === undefined
        ? 'Subscriptions to this plan'
        : `${totalCapped ? 'More than ' : ''}${plural(total, 'subscription')}`}
    </a>
  );
}
