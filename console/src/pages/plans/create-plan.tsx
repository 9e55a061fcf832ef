import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { planIntervals } from '../../../../src/core/model/plan.ts';
import { price } from '../../format/interval.ts';
import { words } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { MoneyFields } from '../../parts/money-fields.tsx';
import { till } from '../../session.ts';
import { PlanFields } from './edit-plan.tsx';
import {
  amountMax,
  intervalCountLimit,
  type NewPlanInputs,
  newPlan,
  parseIntervalCount,
} from './plan-inputs.ts';

const empty: NewPlanInputs = {
  name: '',
  group: '',
  addOn: false,
  repeatable: false,
  features: [],
  metadata: [],
  amount: '',
  currency: 'eur',
  interval: 'month',
  intervalCount: '1',
};

export function CreatePlan({ onClose }: Closing) {
  const { route } = useLocation();
  const [inputs, setInputs] = useState(empty);
  const { body, problems } = newPlan(inputs);
  const set = (change: Partial<NewPlanInputs>) => setInputs({ ...inputs, ...change });
  return (
    <ActionDialog
      title="Create plan"
      confirm="Create plan"
      isReady={body !== undefined}
      done="Plan created"
      onClose={onClose}
      act={async (idempotencyKey) => {
        if (body === undefined) return;
        const { id } = await till().plans.create(body, { idempotencyKey });
        route(pageOf('plan', id));
      }}
    >
      <PlanFields
        inputs={inputs}
        // An empty input is not marked as wrong before it was used.
        problems={inputs.name === '' ? { ...problems, name: '' } : problems}
        onChange={set}
      >
        <PriceFields inputs={inputs} onChange={set} />
      </PlanFields>
      {body !== undefined && (
        <p>
          {body.amount === 0
            ? 'Subscribers pay nothing.'
            : `Each subscriber pays ${price(body)} for each unit.`}{' '}
          The price cannot be changed later.
        </p>
      )}
    </ActionDialog>
  );
}

function PriceFields({
  inputs,
  onChange,
}: {
  readonly inputs: NewPlanInputs;
  readonly onChange: (change: Partial<NewPlanInputs>) => void;
}) {
  const { amount, currency, interval, intervalCount } = inputs;
  return (
    <>
      <MoneyFields
        amount={amount}
        currency={currency}
        min={0}
        max={amountMax}
        hint="0 for a free plan."
        onChange={onChange}
      />
      <div class="field-row">
        <SelectField
          label="Interval"
          value={interval}
          onInput={(text) =>
            onChange({ interval: planIntervals.find((one) => one === text) ?? empty.interval })
          }
        >
          {planIntervals.map((one) => (
            <option key={one} value={one}>
              {words(one)}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Bill every"
          inputmode="numeric"
          value={intervalCount}
          isValid={parseIntervalCount(intervalCount, interval) !== undefined}
          hint={`1 to ${intervalCountLimit(interval)} ${interval}s.`}
          onInput={(text) => onChange({ intervalCount: text })}
        />
      </div>
    </>
  );
}
