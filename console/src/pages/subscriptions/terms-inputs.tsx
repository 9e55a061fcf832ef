import type { Plan } from '@till/client';
import { planOf } from '../../api/use-plans.ts';
import { price } from '../../format/interval.ts';
import { listOf } from '../../links.ts';
import { SelectField, TextField } from '../../parts/field.tsx';
import { AddOnInputs } from './add-on-inputs.tsx';
import { type NewTermsInputs, parseTrialDays } from './new-terms.ts';
import { parseQuantity, selectableAddOns, sellablePlans } from './wanted-terms.ts';

/** What a new subscription, or a checkout for one, sells. */
export function TermsInputs({
  plans,
  inputs,
  onChange,
}: {
  readonly plans: readonly Plan[];
  readonly inputs: NewTermsInputs;
  readonly onChange: (inputs: NewTermsInputs) => void;
}) {
  const { planId, quantity, addOns, trialDays } = inputs;
  const set = (change: Partial<NewTermsInputs>) => onChange({ ...inputs, ...change });
  const sellable = sellablePlans(plans);
  if (sellable.length === 0)
    return (
      <p>
        There is no plan to subscribe to yet. <a href={listOf('plan')}>Create one first</a>.
      </p>
    );
  return (
    <>
      <div class="field-row">
        {/* Add-ons belong to the interval of their plan. */}
        <SelectField label="Plan" value={planId} onInput={(id) => set({ planId: id, addOns: [] })}>
          <option value="">Choose a plan</option>
          {sellable.map((plan) => (
            <option key={plan.id} value={plan.id}>
              {plan.name}, {price(plan)}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Quantity"
          inputmode="numeric"
          value={quantity}
          isValid={parseQuantity(quantity) !== undefined}
          onInput={(text) => set({ quantity: text })}
        />
      </div>
      {planId !== '' && (
        <AddOnInputs
          plans={selectableAddOns(plans, planOf(plans, planId), [])}
          addOns={addOns}
          onChange={(next) => set({ addOns: next })}
        />
      )}
      <TextField
        label="Trial in days (optional)"
        inputmode="numeric"
        value={trialDays}
        isValid={parseTrialDays(trialDays) !== undefined}
        onInput={(text) => set({ trialDays: text })}
      />
    </>
  );
}
