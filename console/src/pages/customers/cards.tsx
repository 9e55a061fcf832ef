import { isTillError, type PaymentMethod } from '@till/client';
import { useState } from 'preact/hooks';
import { useResource } from '../../api/use-resource.ts';
import { cardExpiry, cardText } from '../../format/card.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { Section } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { Id, none, Time } from '../../parts/values.tsx';
import { can, till } from '../../session.ts';

interface Action {
  readonly kind: 'default' | 'remove';
  readonly card: PaymentMethod;
}

/** The saved cards. They are read from the processor, which may fail while the rest of the page works. */
export function Cards({ customerId }: { readonly customerId: string }) {
  const cards = useResource(
    (options) => till().customers.paymentMethods(customerId).list(options),
    [customerId],
  );
  const [action, setAction] = useState<Action | undefined>(undefined);
  const close = (hasActed: boolean) => {
    setAction(undefined);
    if (hasActed) cards.reload();
  };
  return (
    <Section title="Cards">
      <Show resource={cards}>
        {(rows) => (
          <DataTable
            caption="Cards"
            empty="No saved cards."
            columns={columns(setAction)}
            rows={rows}
            keyOf={({ id }) => id}
          />
        )}
      </Show>
      {action?.kind === 'default' && (
        <MakeDefault customerId={customerId} card={action.card} onClose={close} />
      )}
      {action?.kind === 'remove' && <RemoveCard customerId={customerId} card={action.card} onClose={close} />}
    </Section>
  );
}

function columns(act: (action: Action) => void): readonly Column<PaymentMethod>[] {
  const actions: Column<PaymentMethod> = {
    header: 'Actions',
    cell: (card) => (
      <span class="row-actions">
        {!card.isDefault && (
          <button type="button" onClick={() => act({ kind: 'default', card })}>
            Make default<span class="visually-hidden"> {cardText(card)}</span>
          </button>
        )}
        <button type="button" onClick={() => act({ kind: 'remove', card })}>
          Remove<span class="visually-hidden"> {cardText(card)}</span>
        </button>
      </span>
    ),
  };
  return [
    {
      header: 'Card',
      cell: (card) => (
        <>
          {cardText(card)} {card.isDefault && <Status value="default" tone="busy" />}
        </>
      ),
    },
    { header: 'Expires', cell: (card) => <Expiry card={card} /> },
    { header: 'Saved', cell: ({ createdAt }) => <Time value={createdAt} dayOnly />, isMinor: true },
    { header: 'Id', cell: ({ id }) => <Id value={id} />, isMinor: true },
    ...(can('write') ? [actions] : []),
  ];
}

function Expiry({ card }: { readonly card: PaymentMethod }) {
  const expiry = cardExpiry(card, new Date());
  if (expiry === null) return none;
  return (
    <>
      {expiry.text} {expiry.isOver && <Status value="expired" tone="bad" />}
    </>
  );
}

interface CardDialogProps extends Closing {
  readonly customerId: string;
  readonly card: PaymentMethod;
}

function MakeDefault({ customerId, card, onClose }: CardDialogProps) {
  const text = cardText(card);
  return (
    <ActionDialog
      title="Make default card"
      confirm="Make default"
      done={`${text} is the default`}
      onClose={onClose}
      act={() => till().customers.paymentMethods(customerId).setDefault(card.id)}
    >
      <p>
        {text} becomes the default of the customer, and of each of their subscriptions that is active,
        trialing, past due or unpaid. The next charges use it. Nothing is charged now.
      </p>
    </ActionDialog>
  );
}

function RemoveCard({ customerId, card, onClose }: CardDialogProps) {
  const text = cardText(card);
  return (
    <ActionDialog
      title="Remove card"
      confirm={`Remove ${text}`}
      isDangerous
      done={`${text} is removed`}
      onClose={onClose}
      adviceOn={(error) => (isTillError(error, 'payment_method_in_use') ? 'Nothing was removed.' : undefined)}
      act={() => till().customers.paymentMethods(customerId).delete(card.id)}
    >
      <p>
        The processor forgets {text}. It cannot be charged any more, and only the customer can save it again.
        This cannot be undone.
      </p>
    </ActionDialog>
  );
}
