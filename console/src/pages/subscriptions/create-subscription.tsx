import type { CreatedSubscription, PaymentMethod, Plan } from '@till/client';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { planOf, usePlans } from '../../api/use-plans.ts';
import { useResource } from '../../api/use-resource.ts';
import { cardText } from '../../format/card.ts';
import { money } from '../../format/money.ts';
import { plural } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Show } from '../../parts/states.tsx';
import { till } from '../../session.ts';
import { adviceOnChange } from './change-advice.tsx';
import { type NewTerms, newTerms, noTerms, periodAmount } from './new-terms.ts';
import { termsWithPrice } from './terms.ts';
import { TermsInputs } from './terms-inputs.tsx';

/** Subscribes a customer with a saved card. Without one, the customer needs a checkout. */
export function CreateSubscription({
  customerId,
  name,
  onClose,
}: Closing & {
  readonly customerId: string;
  /** The customer's. */
  readonly name: string;
}) {
  const { route } = useLocation();
  const plans = usePlans();
  const cards = useResource(
    (options) => till().customers.paymentMethods(customerId).list(options),
    [customerId],
  );
  const [inputs, setInputs] = useState(noTerms);
  const [chosen, setChosen] = useState('');
  const terms = newTerms(inputs);
  const all = cards.value ?? [];
  const card = all.find(({ id }) => id === chosen) ?? all.find(({ isDefault }) => isDefault) ?? all[0];
  return (
    <ActionDialog
      title={`Create subscription for ${name}`}
      confirm={confirmText(plans.value ?? [], terms)}
      isReady={terms !== undefined && card !== undefined}
      done={({ subscription: { status } }: CreatedSubscription) =>
        status === 'incomplete' ? 'Created. Its first payment is not complete' : 'Subscription created'
      }
      adviceOn={adviceOnChange}
      onClose={onClose}
      act={async (idempotencyKey) => {
        if (terms === undefined || card === undefined) throw new Error('the inputs are not complete');
        const body = { customerId, ...terms, paymentMethodId: card.id };
        const created = await till().subscriptions.create(body, { idempotencyKey });
        route(pageOf('subscription', created.subscription.id));
        return created;
      }}
    >
      <Show resource={plans}>
        {(value) => <TermsInputs plans={value} inputs={inputs} onChange={setInputs} />}
      </Show>
      <Show resource={cards}>
        {() =>
          card === undefined ? (
            <p>{name} has no saved card. Create a checkout instead, and send its link.</p>
          ) : (
            <SelectField label="Charge" value={card.id} onInput={setChosen}>
              {all.map((one) => (
                <option key={one.id} value={one.id}>
                  {cardText(one)}
                  {one.isDefault && ' (default)'}
                </option>
              ))}
            </SelectField>
          )
        }
      </Show>
      {terms !== undefined && card !== undefined && plans.value !== undefined && (
        <Consequences plans={plans.value} terms={terms} card={card} />
      )}
    </ActionDialog>
  );
}

function Consequences({
  plans,
  terms,
  card,
}: {
  readonly plans: readonly Plan[];
  readonly terms: NewTerms;
  readonly card: PaymentMethod;
}) {
  const { trialPeriodDays } = terms;
  const amount = amountText(plans, terms);
  return (
    <>
      <p>
        {termsWithPrice(plans, terms)}.{' '}
        {trialPeriodDays > 0
          ? `Nothing is charged now. After ${plural(trialPeriodDays, 'day')}, ${amount} is charged to ${cardText(card)}.`
          : `${amount} is charged to ${cardText(card)} now.`}{' '}
        Taxes come on top.
      </p>
      {trialPeriodDays === 0 && (
        <p class="quiet">
          If the card is declined or its bank asks for authentication, the subscription waits for its first
          payment, and gives no access until then.
        </p>
      )}
    </>
  );
}

function confirmText(plans: readonly Plan[], terms: NewTerms | undefined): string {
  if (terms === undefined || terms.trialPeriodDays > 0 || periodAmount(plans, terms) === 0)
    return 'Create subscription';
  return `Create and charge ${amountText(plans, terms)}`;
}

function amountText(plans: readonly Plan[], terms: NewTerms): string {
  return money(periodAmount(plans, terms), planOf(plans, terms.planId)?.currency ?? 'eur');
}
