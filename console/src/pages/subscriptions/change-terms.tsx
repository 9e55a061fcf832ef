import type { ChangedSubscription, SubscriptionChangePreview } from '@till/client';
import { useState } from 'preact/hooks';
import { planOf } from '../../api/use-plans.ts';
import { cardName, cardOf } from '../../format/card.ts';
import { price } from '../../format/interval.ts';
import { localTime } from '../../format/local-time.ts';
import { money } from '../../format/money.ts';
import { ActionDialog, Problem } from '../../parts/action-dialog.tsx';
import { Choices } from '../../parts/choices.tsx';
import { DataTable } from '../../parts/data-table.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { Loading } from '../../parts/states.tsx';
import { Money, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { AddOnInputs } from './add-on-inputs.tsx';
import type { DialogProps } from './around.ts';
import { adviceOnChange } from './change-advice.tsx';
import { termsText, termsWithPrice } from './terms.ts';
import { usePreview } from './use-preview.ts';
import {
  type ChangeBody,
  changeBody,
  costText,
  parseQuantity,
  selectableAddOns,
  selectablePlans,
  type WantedTerms,
} from './wanted-terms.ts';

const prorations = [
  {
    value: 'nextInvoice',
    label: 'With the next renewal',
    hint: 'The difference for the rest of this period is added to the next invoice.',
  },
  { value: 'invoice', label: 'Now', hint: 'The difference for the rest of this period is charged at once.' },
  { value: 'none', label: 'Not at all', hint: 'The new price counts from the next renewal on.' },
] as const;

/** Changes plan, quantity or add-ons, after showing what that costs. */
export function ChangeTerms(props: DialogProps) {
  const { subscription, plans, cards, onClose } = props;
  const { id, planId, quantity, addOns, currentPeriodEnd } = subscription;
  const [wanted, setWanted] = useState<WantedTerms>({
    planId,
    quantity: String(quantity),
    addOns: addOns.map((addOn) => ({ ...addOn, quantity: String(addOn.quantity) })),
    when: 'now',
    proration: 'nextInvoice',
  });
  const body = changeBody(wanted, subscription);
  const { preview, failure } = usePreview(subscription, body);
  return (
    <ActionDialog
      title="Change plan or quantity"
      confirm={confirmText(body, preview)}
      isReady={preview !== undefined}
      done={doneText}
      adviceOn={adviceOnChange}
      onClose={onClose}
      act={(idempotencyKey) =>
        till().subscriptions.update(
          id,
          { ...body, ...(preview?.prorationDate == null ? {} : { prorationDate: preview.prorationDate }) },
          { idempotencyKey },
        )
      }
    >
      {/* First, and in view while the rest is scrolled: what it costs is what is decided here. */}
      <div class="preview first" aria-live="polite">
        {body === undefined && (
          <p class="quiet">Choose another plan, quantity or add-on to see what the change costs.</p>
        )}
        {failure !== undefined && <Problem failure={failure} advice={adviceOnChange(failure.error)} />}
        {body !== undefined && failure === undefined && preview === undefined && (
          <Loading what="Calculating" />
        )}
        {preview !== undefined && <Total of={preview} />}
      </div>
      <Inputs {...props} wanted={wanted} onChange={(change) => setWanted({ ...wanted, ...change })} />
      {body !== undefined && (
        <div class="preview">
          <p>
            From {termsWithPrice(plans, subscription)} to <strong>{termsWithPrice(plans, body)}</strong>
            {body.when === 'now'
              ? ' now.'
              : ` ${currentPeriodEnd === null ? 'when the period ends' : `on ${localTime(currentPeriodEnd)}`}.`}
          </p>
          {preview !== undefined && (
            <Preview
              preview={preview}
              texts={costText(preview, body, {
                card: cardName(cardOf(cards, subscription)),
                currentPeriodEnd,
              })}
            />
          )}
          {subscription.pendingChange !== null && (
            <p>It replaces the pending change to {termsText(plans, subscription.pendingChange)}.</p>
          )}
        </div>
      )}
    </ActionDialog>
  );
}

function Inputs({
  subscription,
  plans,
  wanted,
  onChange,
}: DialogProps & {
  readonly wanted: WantedTerms;
  readonly onChange: (change: Partial<WantedTerms>) => void;
}) {
  const { currentPeriodEnd } = subscription;
  return (
    <>
      <div class="field-row">
        <SelectField label="Plan" value={wanted.planId} onInput={(planId) => onChange({ planId })}>
          {selectablePlans(plans, planOf(plans, subscription.planId)).map((plan) => (
            <option key={plan.id} value={plan.id}>
              {plan.name}, {price(plan)}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Quantity"
          inputmode="numeric"
          value={wanted.quantity}
          isValid={parseQuantity(wanted.quantity) !== undefined}
          onInput={(quantity) => onChange({ quantity })}
        />
      </div>
      <AddOnInputs
        plans={selectableAddOns(plans, planOf(plans, wanted.planId), subscription.addOns)}
        addOns={wanted.addOns}
        onChange={(addOns) => onChange({ addOns })}
      />
      <Choices
        label="When"
        value={wanted.when}
        onChange={(when) => onChange({ when })}
        of={[
          { value: 'now', label: 'Now', hint: 'The customer gets what is new at once.' },
          {
            value: 'periodEnd',
            label: 'When the period ends',
            hint: `${currentPeriodEnd === null ? 'Then' : `On ${localTime(currentPeriodEnd)}`}, with the renewal. The rest of this period stays as it is.`,
          },
        ]}
      />
      {wanted.when === 'now' && (
        <Choices
          label="Bill the difference"
          value={wanted.proration}
          of={prorations}
          onChange={(proration) => onChange({ proration })}
        />
      )}
    </>
  );
}

function Total({ of: { billedNow, amountDue, currency } }: { readonly of: SubscriptionChangePreview }) {
  return (
    <p class="total">
      <span>{billedNow ? 'Due now' : 'Due with the next invoice'}</span>{' '}
      <strong>{money(amountDue, currency)}</strong>
    </p>
  );
}

function Preview({
  preview,
  texts,
}: {
  readonly preview: SubscriptionChangePreview;
  readonly texts: readonly string[];
}) {
  const { lines, currency, billedNow } = preview;
  return (
    <>
      {lines.length > 0 && (
        <DataTable
          caption="Lines of the invoice"
          rows={lines.map((line, index) => ({ ...line, index }))}
          keyOf={({ index }) => String(index)}
          columns={[
            {
              header: billedNow ? 'On the invoice that is created now' : 'On the next invoice',
              cell: ({ description, periodStart, periodEnd }) => (
                <>
                  {description ?? 'Without a description'}
                  <div class="quiet small">
                    <Time value={periodStart} dayOnly /> – <Time value={periodEnd} dayOnly />
                  </div>
                </>
              ),
            },
            {
              header: 'Amount',
              isNumber: true,
              cell: ({ amount }) => <Money amount={amount} currency={currency} />,
            },
          ]}
        />
      )}
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </>
  );
}

function confirmText(body: ChangeBody | undefined, preview: SubscriptionChangePreview | undefined): string {
  if (preview?.billedNow === true && preview.amountDue > 0)
    return `Change and charge ${money(preview.amountDue, preview.currency)}`;
  return body?.when === 'periodEnd' ? 'Plan the change' : 'Change now';
}

function doneText({ subscription, clientSecret }: ChangedSubscription): string {
  const { pendingChange } = subscription;
  if (pendingChange === null) return 'Subscription changed';
  return pendingChange.at === null || clientSecret !== null
    ? 'The change waits: the customer has to authenticate its payment'
    : `The change is planned for ${localTime(pendingChange.at)}`;
}
