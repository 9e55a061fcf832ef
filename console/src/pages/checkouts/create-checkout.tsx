import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { usePlans } from '../../api/use-plans.ts';
import { pageOf } from '../../links.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { Choices } from '../../parts/choices.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { MoneyFields } from '../../parts/money-fields.tsx';
import { Show } from '../../parts/states.tsx';
import { till } from '../../session.ts';
import { amountMax } from '../plans/plan-inputs.ts';
import { adviceOnChange } from '../subscriptions/change-advice.tsx';
import { TermsInputs } from '../subscriptions/terms-inputs.tsx';
import { type CheckoutInputs, emptyCheckout, isReturnUrl, newCheckout } from './new-checkout.ts';

/** Buyers usually return to the same page, so the next dialog starts with it. */
const storageName = 'till-return-url';
/** The API's own limit. */
const descriptionLengthMax = 500;

const sold = [
  { value: 'subscription', label: 'A subscription', hint: 'The buyer subscribes to a plan.' },
  { value: 'payment', label: 'A payment', hint: 'The buyer pays once.' },
  { value: 'setup', label: 'Only save a card', hint: 'Nothing is charged.' },
] as const;

/** Creates a page of the processor for a customer. Its own page shows the link to send. */
export function CreateCheckout({
  customerId,
  name,
  onClose,
}: Closing & {
  readonly customerId: string;
  /** The customer's. */
  readonly name: string;
}) {
  const { route } = useLocation();
  const [inputs, setInputs] = useState<CheckoutInputs>({
    ...emptyCheckout,
    returnUrl: localStorage.getItem(storageName) ?? '',
  });
  const set = (change: Partial<CheckoutInputs>) => setInputs({ ...inputs, ...change });
  const body = newCheckout(customerId, inputs);
  const { sells, returnUrl } = inputs;
  return (
    <ActionDialog
      title={`Create checkout for ${name}`}
      confirm="Create checkout"
      isReady={body !== undefined}
      done="Checkout created"
      adviceOn={adviceOnChange}
      onClose={onClose}
      act={async (idempotencyKey) => {
        if (body === undefined) return;
        const { checkout } = await till().checkouts.create(body, { idempotencyKey });
        localStorage.setItem(storageName, returnUrl.trim());
        route(pageOf('checkout', checkout.id));
      }}
    >
      <Choices label="For" value={sells} of={sold} onChange={(value) => set({ sells: value })} />
      <Sold inputs={inputs} onChange={set} />
      <TextField
        label="Afterwards, the buyer goes to"
        value={returnUrl}
        isValid={returnUrl === '' || isReturnUrl(returnUrl)}
        hint="A page of yours, for example https://shop.example.com/account."
        onInput={(text) => set({ returnUrl: text })}
      />
      <p>The link to the checkout is shown next. Nothing is charged before the buyer opens it.</p>
    </ActionDialog>
  );
}

function Sold({
  inputs: { sells, terms, amount, currency, description },
  onChange,
}: {
  readonly inputs: CheckoutInputs;
  readonly onChange: (change: Partial<CheckoutInputs>) => void;
}) {
  const plans = usePlans();
  if (sells === 'setup') return null;
  if (sells === 'subscription')
    return (
      <Show resource={plans}>
        {(value) => (
          <TermsInputs plans={value} inputs={terms} onChange={(next) => onChange({ terms: next })} />
        )}
      </Show>
    );
  return (
    <>
      <MoneyFields amount={amount} currency={currency} max={amountMax} onChange={onChange} />
      <TextField
        label="Description"
        value={description}
        maxlength={descriptionLengthMax}
        hint="The buyer sees it."
        onInput={(text) => onChange({ description: text })}
      />
    </>
  );
}
