import { type Invoice, isTillError, type Subscription } from '@till/client';
import { useState } from 'preact/hooks';
import { useResource } from '../../api/use-resource.ts';
import { cardName, cardOf } from '../../format/card.ts';
import { money } from '../../format/money.ts';
import { words } from '../../format/words.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Show } from '../../parts/states.tsx';
import { till } from '../../session.ts';
import type { DialogProps } from './around.ts';
import { invoiceToPay, isUnpaid } from './invoice-to-pay.ts';
import { termsWithPrice } from './terms.ts';

/** Enough for the latest invoice and the older unpaid ones of most customers. */
const invoicesMax = 10;

/** Charges the latest invoice of a subscription now, which decides its status. */
export function PayNow({ subscription, plans, cards, onClose }: DialogProps) {
  const { id } = subscription;
  const [cardId, setCardId] = useState('');
  const invoices = useResource(
    (options) => till().invoices.list({ subscriptionId: id, limit: invoicesMax }, options).page(),
    [id],
    ({ objectType, data }) => objectType === 'invoice' && data.subscriptionId === id,
  );
  const card = cardId === '' ? cardOf(cards, subscription) : cards.find((one) => one.id === cardId);
  const all = invoices.value?.data ?? [];
  const invoice = invoiceToPay(all, subscription);
  const amount = invoice === undefined ? '' : money(invoice.amountRemaining, invoice.currency);
  return (
    <ActionDialog
      title="Pay now"
      confirm={`Pay ${amount || 'now'}`}
      isReady={invoices.value !== undefined}
      done={({ status }: Subscription) => `Paid. The subscription is ${words(status).toLowerCase()}`}
      adviceOn={advice}
      onClose={onClose}
      act={(idempotencyKey) =>
        till().subscriptions.pay(id, cardId === '' ? {} : { paymentMethodId: cardId }, { idempotencyKey })
      }
    >
      {cards.length > 0 && (
        <SelectField label="Pay with" value={cardId} onInput={setCardId}>
          <option value="">Default: {cardName(cardOf(cards, subscription))}</option>
          {cards.map((one) => (
            <option key={one.id} value={one.id}>
              {cardName(one)}
            </option>
          ))}
        </SelectField>
      )}
      <Show resource={invoices}>
        {() => (
          <Charge
            invoice={invoice}
            others={all.filter((one) => isUnpaid(one) && one !== invoice)}
            card={cardName(card)}
            terms={termsWithPrice(plans, subscription)}
          />
        )}
      </Show>
    </ActionDialog>
  );
}

/** Says what is charged. */
function Charge({
  invoice,
  others,
  card,
  terms,
}: {
  readonly invoice: Invoice | undefined;
  readonly others: readonly Invoice[];
  readonly card: string;
  readonly terms: string;
}) {
  const amount = ({ amountRemaining, currency }: Invoice) => money(amountRemaining, currency);
  const name = ({ number, status }: Invoice) =>
    number === null ? `the ${status} invoice` : `invoice ${number}`;
  return (
    <>
      {invoice === undefined ? (
        <p>
          No invoice is due. If the subscription is paused at the processor, it is resumed, and a new period
          of {terms} is charged to {card}.
        </p>
      ) : (
        <>
          <p>
            {amount(invoice)} of {name(invoice)} is charged to {card} now.
          </p>
          <p>If the card is declined, the invoice stays open.</p>
        </>
      )}
      {others.length > 0 && (
        <>
          <p>These invoices stay unpaid:</p>
          <ul>
            {others.map((one) => (
              <li key={one.id}>
                {amount(one)}, {name(one)}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function advice(error: unknown) {
  if (isTillError(error, 'payment_declined'))
    return `The invoice stays open.${error.declineCode === null ? '' : ` Reason: ${words(error.declineCode)}.`} Try another card.`;
  if (isTillError(error, 'authentication_required'))
    return 'The invoice stays open until the customer has confirmed.';
  return undefined;
}
