import type { Customer, Entitlements } from '@till/client';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { plural } from '../../format/words.ts';
import { listOf } from '../../links.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { till } from '../../session.ts';
import { hasEnded } from '../subscriptions/terms.ts';

export function DeleteCustomer({
  customer,
  entitlements,
  onClose,
}: Closing & {
  readonly customer: Customer;
  /** Undefined if they are not known. */
  readonly entitlements: Entitlements | undefined;
}) {
  const { route } = useLocation();
  const [typed, setTyped] = useState('');
  const wanted = customer.email === '' ? customer.processorCustomerId : customer.email;
  return (
    <ActionDialog
      title="Delete customer"
      confirm="Delete customer"
      isDangerous
      isReady={typed.trim() === wanted}
      done="Customer deleted"
      onClose={(hasActed) => {
        onClose(false);
        if (hasActed) route(listOf('customer'));
      }}
      act={() => till().customers.delete(customer.id)}
    >
      <ul>
        <li>{subscriptionText(entitlements?.subscriptions.filter((one) => !hasEnded(one)).length)}</li>
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

/** `count`: how many subscriptions have not ended. */
function subscriptionText(count: number | undefined): string {
  if (count === 0) return 'No subscription is canceled: the customer has none that has not ended.';
  const which =
    count === undefined
      ? 'All subscriptions that have not ended are'
      : `${plural(count, 'subscription')} ${count === 1 ? 'is' : 'are'}`;
  return `${which} canceled at once, and the customer loses access.`;
}
