import type { Plan } from '@till/client';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { price } from '../../format/interval.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { Choices } from '../../parts/choices.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { featureEntries, metadataEntries } from '../../parts/entries.ts';
import { EntriesInput } from '../../parts/entries-input.tsx';
import { TextField } from '../../parts/field.tsx';
import { till } from '../../session.ts';
import { type PlanInputs, planChange } from './plan-inputs.ts';

const soldAs = [
  { value: 'main', label: 'Main plan', hint: 'Customers subscribe to it.' },
  {
    value: 'addOn',
    label: 'Add-on',
    hint: 'It is added to a subscription, and is on the same invoice. This cannot change while a subscription has the plan.',
  },
] as const;

const sales = [
  {
    value: 'once',
    label: 'Once',
    hint: 'While a customer has a subscription to the plan, checkouts sell no other.',
  },
  {
    value: 'repeatable',
    label: 'Repeatedly',
    hint: 'A customer can buy the plan again, and has it several times.',
  },
] as const;

/** Changes everything of a plan but its price. */
export function EditPlan({ plan, onClose }: Closing & { readonly plan: Plan }) {
  const [inputs, setInputs] = useState<PlanInputs>({
    name: plan.name,
    group: plan.group ?? '',
    addOn: plan.addOn,
    repeatable: plan.repeatable,
    features: featureEntries(plan.features),
    metadata: metadataEntries(plan.metadata),
  });
  const { body, problems } = planChange(plan, inputs);
  const set = (change: Partial<PlanInputs>) => setInputs({ ...inputs, ...change });
  return (
    <ActionDialog
      title="Edit plan"
      confirm="Save"
      isReady={body !== undefined}
      done="Plan saved"
      onClose={onClose}
      act={(idempotencyKey) => till().plans.update(plan.id, body ?? {}, { idempotencyKey })}
    >
      <PlanFields inputs={inputs} problems={problems} onChange={set} />
      <p>
        The price of {price(plan)} stays: to sell at another price, archive this plan and create another one.
        New features apply at once to all subscribers. No customer is charged.
      </p>
    </ActionDialog>
  );
}

/** The inputs that a new plan and a change of one have in common. */
export function PlanFields({
  inputs,
  problems,
  onChange,
  children,
}: {
  readonly inputs: PlanInputs;
  readonly problems: ReturnType<typeof planChange>['problems'];
  readonly onChange: (change: Partial<PlanInputs>) => void;
  /** Inputs after the name. */
  readonly children?: ComponentChildren;
}) {
  return (
    <>
      <TextField
        label="Name"
        value={inputs.name}
        hint={problems.name}
        isValid={problems.name === ''}
        onInput={(name) => onChange({ name })}
      />
      {children}
      <Choices
        label="Sold as"
        value={inputs.addOn ? 'addOn' : 'main'}
        onChange={(value) => onChange({ addOn: value === 'addOn' })}
        of={soldAs}
      />
      {!inputs.addOn && (
        <TextField
          label="Group"
          value={inputs.group}
          hint={problems.group || 'A customer can have one of the plans of a group. Empty: no group.'}
          isValid={problems.group === ''}
          onInput={(group) => onChange({ group })}
        />
      )}
      {!inputs.addOn && inputs.group.trim() === '' && (
        <Choices
          label="Checkouts sell it"
          value={inputs.repeatable ? 'repeatable' : 'once'}
          onChange={(value) => onChange({ repeatable: value === 'repeatable' })}
          of={sales}
        />
      )}
      <EntriesInput
        label="Features"
        noun="Feature"
        hasTypes
        entries={inputs.features}
        problem={problems.features}
        onChange={(features) => onChange({ features })}
      />
      <EntriesInput
        label="Metadata"
        noun="Metadata entry"
        entries={inputs.metadata}
        problem={problems.metadata}
        onChange={(metadata) => onChange({ metadata })}
      />
    </>
  );
}
