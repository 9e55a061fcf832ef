import type { Plan } from '@till/client';
import { price } from '../../format/interval.ts';
import { parseQuantity, type WantedAddOn } from './wanted-terms.ts';

/** The add-ons of a subscription, which can be added and removed. Nothing is shown if there is none to add. */
export function AddOnInputs({
  plans,
  addOns,
  onChange,
}: {
  /** Those that the subscription can have. */
  readonly plans: readonly Plan[];
  readonly addOns: readonly WantedAddOn[];
  readonly onChange: (addOns: readonly WantedAddOn[]) => void;
}) {
  // A plan is in the list once.
  const free = plans.filter(({ id }) => !addOns.some(({ planId }) => planId === id));
  if (plans.length === 0 && addOns.length === 0) return null;
  const set = (index: number, change: Partial<WantedAddOn>) =>
    onChange(addOns.map((addOn, at) => (at === index ? { ...addOn, ...change } : addOn)));
  return (
    <fieldset class="choices entries">
      <legend>Add-ons</legend>
      {addOns.map((addOn, index) => (
        <Row
          key={addOn.planId}
          label={`Add-on ${index + 1}`}
          addOn={addOn}
          plans={plans.filter((plan) => plan.id === addOn.planId || free.includes(plan))}
          onChange={(change) => set(index, change)}
          onRemove={() => onChange(addOns.filter((_, at) => at !== index))}
        />
      ))}
      {free[0] !== undefined && (
        <button
          type="button"
          onClick={() => onChange([...addOns, { planId: free[0]?.id ?? '', quantity: '1' }])}
        >
          Add add-on
        </button>
      )}
    </fieldset>
  );
}

function Row({
  label,
  addOn: { planId, quantity },
  plans,
  onChange,
  onRemove,
}: {
  readonly label: string;
  readonly addOn: WantedAddOn;
  readonly plans: readonly Plan[];
  readonly onChange: (change: Partial<WantedAddOn>) => void;
  readonly onRemove: () => void;
}) {
  return (
    <div class="entry">
      <select
        aria-label={`${label}: plan`}
        value={planId}
        onChange={({ currentTarget }) => onChange({ planId: currentTarget.value })}
      >
        {!plans.some(({ id }) => id === planId) && <option value={planId}>Not for this plan</option>}
        {plans.map((plan) => (
          <option key={plan.id} value={plan.id}>
            {plan.name}, {price(plan)}
          </option>
        ))}
      </select>
      <input
        aria-label={`${label}: quantity`}
        inputmode="numeric"
        autocomplete="off"
        value={quantity}
        aria-invalid={parseQuantity(quantity) === undefined}
        onInput={({ currentTarget }) => onChange({ quantity: currentTarget.value })}
      />
      <button type="button" class="remove" aria-label={`Remove ${label.toLowerCase()}`} onClick={onRemove}>
        <span aria-hidden="true">×</span>
      </button>
    </div>
  );
}
