import { useState } from 'preact/hooks';
import type { ApiError } from '../../api/api-error.ts';
import { request } from '../../api/request.ts';
import type { Invoice, Page, Subscription } from '../../api/types.ts';
import { planOf } from '../../api/use-plans.ts';
import { useResource } from '../../api/use-resource.ts';
import { money } from '../../format/money.ts';
import { words } from '../../format/words.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Show } from '../../parts/states.tsx';
import type { DialogProps } from './around.ts';
import { cardName, cardOf } from './card-of.ts';
import { termsWithPrice } from './terms.ts';

/** More than one open invoice is rare. */
const invoicesMax = 10;

/** Charges the open invoice of a subscription now. */
export function PayNow({ subscription, plans, cards, onClose }: DialogProps) {
  const { id } = subscription;
  const [cardId, setCardId] = useState('');
  const invoices = useResource<Page<Invoice>>('/invoices', {
    query: { subscriptionId: id, status: 'open', limit: invoicesMax },
    reloadOn: ({ objectType, data }) => objectType === 'invoice' && data['subscriptionId'] === id,
  });
  const card = cardId === '' ? cardOf(cards, subscription) : cards.find((one) => one.id === cardId);
  const open = invoices.value?.data ?? [];
  const [only] = open;
  const amount = open.length === 1 && only !== undefined ? money(only.amountRemaining, only.currency) : '';
  return (
    <ActionDialog
      title="Pay now"
      confirm={`Pay ${amount || 'now'}`}
      isReady={invoices.value !== undefined}
      done={({ status }: Subscription) => `Paid. The subscription is ${words(status).toLowerCase()}`}
      adviceOn={advice}
      onClose={onClose}
      act={(idempotencyKey) =>
        request<Subscription>('POST', `/subscriptions/${id}/pay`, {
          idempotencyKey,
          body: cardId === '' ? {} : { paymentMethodId: cardId },
        })
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
        {({ data }) => (
          <Charge
            invoices={data}
            card={cardName(card)}
            terms={termsWithPrice(planOf(plans, subscription.planId), subscription.quantity)}
            hasPendingChange={subscription.pendingChange !== null}
          />
        )}
      </Show>
    </ActionDialog>
  );
}

/** Says what is charged. */
function Charge({
  invoices,
  card,
  terms,
  hasPendingChange,
}: {
  readonly invoices: readonly Invoice[];
  readonly card: string;
  readonly terms: string;
  readonly hasPendingChange: boolean;
}) {
  const [newest] = invoices;
  if (newest === undefined)
    return (
      <p>
        No invoice is open. If the subscription is paused at the processor, it is resumed, and a new period of{' '}
        {terms} is charged to {card}.
      </p>
    );
  const amount = ({ amountRemaining, currency }: Invoice) => money(amountRemaining, currency);
  const name = ({ number }: Invoice) => (number === null ? 'the open invoice' : `invoice ${number}`);
  return (
    <>
      {invoices.length === 1 ? (
        <p>
          {amount(newest)} of {name(newest)} is charged to {card} now.
        </p>
      ) : (
        <>
          <p>
            The newest of these open invoices is charged to {card} now
            {hasPendingChange && ', except that of the pending change'}.
          </p>
          <ul>
            {invoices.map((invoice) => (
              <li key={invoice.id}>
                {amount(invoice)}, {name(invoice)}
              </li>
            ))}
          </ul>
        </>
      )}
      <p>If the card is declined, the invoice stays open.</p>
    </>
  );
}

function advice({ code, declineCode }: ApiError) {
  if (code === 'payment_declined')
    return `The invoice stays open.${declineCode === null ? '' : ` Reason: ${words(declineCode)}.`} Try another card.`;
  if (code === 'authentication_required') return 'The invoice stays open until the customer has confirmed.';
  return undefined;
}
