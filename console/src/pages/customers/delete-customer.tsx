import { useState } from 'preact/hooks';
import type { Customer } from '../../../../client/src/index.ts';
import { plural } from '../../format/words.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { till } from '../../session.ts';

export function DeleteCustomer({
  customer,
  liveSubscriptions,
  onClose,
}: {
  readonly customer: Customer;
  /** How many subscriptions have not ended. Undefined if that is not known. */
  readonly liveSubscriptions: number | undefined;
  readonly onClose: (hasActed: boolean) => void;
}) {
  const [typed, setTyped] = useState('');
  const wanted = customer.email === '' ? customer.processorCustomerId : customer.email;
  return (
    <ActionDialog
      title="Delete customer"
      confirm="Delete customer"
      isDangerous
      isReady={typed.trim() === wanted}
      done="Customer deleted"
      onClose={onClose}
      act={() => till().customers.delete(customer.id)}
    >
      <ul>
        <li>{subscriptionText(liveSubscriptions)}</li>
        <li>
          Till and the processor erase the e-mail, name, phone and external id, the metadata of the customer,
          and the saved cards.
        </li>
        <li>The metadata of the customer's payments and subscriptions is erased as well.</li>
        <li>Payments, refunds and invoices stay, without these data. Nothing is refunded.</li>
      </ul>
      <p>
        <strong>This cannot be undone.</strong>
      </p>
      <TextField label={`Type ${wanted} to confirm`} value={typed} onInput={setTyped} />
    </ActionDialog>
  );
}

function subscriptionText(count: number | undefined): string {
  if (count === 0) return 'No subscription is canceled: the customer has none that has not ended.';
  const which =
    count === undefined
      ? 'All subscriptions that have not ended are'
      : `${plural(count, 'subscription')} ${count === 1 ? 'is' : 'are'}`;
  return `${which} canceled at once, and the customer loses access.`;
}
