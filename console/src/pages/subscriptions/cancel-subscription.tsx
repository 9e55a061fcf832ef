import type { Subscription } from '@till/client';
import { useState } from 'preact/hooks';
import { localTime } from '../../format/local-time.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { till } from '../../session.ts';
import type { DialogProps } from './around.ts';
import { termsText, termsWithPrice } from './terms.ts';

/** Ends a subscription at once. */
export function CancelNow({ subscription, plans, entitlement, onClose }: DialogProps) {
  const { id, status, currentPeriodEnd } = subscription;
  const until = entitlement?.entitled === true ? entitlement.until : null;
  const [reason, setReason] = useState('');
  return (
    <ActionDialog
      title="Cancel now"
      confirm="Cancel now"
      dismiss="Go back"
      isDangerous
      done="Subscription canceled"
      onClose={onClose}
      act={() => till().subscriptions.cancel(id, reasonOf(reason))}
    >
      <p>The subscription to {termsWithPrice(plans, subscription)} ends now.</p>
      <ul>
        {status === 'incomplete' && <li>Its first payment can no longer be made.</li>}
        {subscription.entitled && (
          <li>
            It stops entitling the customer at once{until !== null && `, instead of on ${localTime(until)}`}.
          </li>
        )}
        {(status === 'past_due' || status === 'unpaid') && (
          <li>This does not pay open invoices: they stay open.</li>
        )}
        <li>
          Nothing is refunded
          {status === 'active' &&
            currentPeriodEnd !== null &&
            `, not even for the rest of the period until ${localTime(currentPeriodEnd)}`}
          .
        </li>
        <PendingChangeIsDropped subscription={subscription} plans={plans} />
        <li>This cannot be undone. To come back, the customer needs a new subscription.</li>
      </ul>
      <ReasonField value={reason} onInput={setReason} />
    </ActionDialog>
  );
}

/** Lets a subscription end with its period. */
export function CancelAtPeriodEnd({ subscription, plans, onClose }: DialogProps) {
  const { id, status, currentPeriodEnd } = subscription;
  const end = currentPeriodEnd === null ? 'the end of its period' : localTime(currentPeriodEnd);
  const [reason, setReason] = useState('');
  return (
    <ActionDialog
      title="Cancel at period end"
      confirm="Cancel at period end"
      dismiss="Go back"
      isDangerous
      done={`The subscription will end on ${end}`}
      onClose={onClose}
      act={(idempotencyKey) =>
        till().subscriptions.update(id, { cancelAtPeriodEnd: true, ...reasonOf(reason) }, { idempotencyKey })
      }
    >
      <p>
        The subscription to {termsWithPrice(plans, subscription)} goes on until {end}, and ends then.
      </p>
      <ul>
        <li>
          {status === 'trialing'
            ? 'The trial is not followed by a paid period.'
            : 'It is not renewed. Nothing is refunded.'}
        </li>
        {(status === 'past_due' || status === 'unpaid') && <li>The open invoice still has to be paid.</li>}
        <PendingChangeIsDropped subscription={subscription} plans={plans} />
        <li>Until then, it can be undone with “Keep it”.</li>
      </ul>
      <ReasonField value={reason} onInput={setReason} />
    </ActionDialog>
  );
}

/** Undoes the planned end of a subscription. */
export function KeepSubscription({ subscription, plans, onClose }: DialogProps) {
  const { id, cancelAt, currentPeriodEnd } = subscription;
  const end = currentPeriodEnd === null ? 'when its period ends' : `on ${localTime(currentPeriodEnd)}`;
  return (
    <ActionDialog
      title="Keep the subscription"
      confirm="Keep it"
      done="The subscription goes on"
      onClose={onClose}
      act={(idempotencyKey) =>
        till().subscriptions.update(id, { cancelAtPeriodEnd: false }, { idempotencyKey })
      }
    >
      <p>
        The subscription does not end
        {cancelAt !== null && ` on ${localTime(cancelAt)}`}. It renews {end}, and the customer is charged for{' '}
        {termsWithPrice(plans, subscription)}. Nothing is charged now.
      </p>
    </ActionDialog>
  );
}

function ReasonField(props: { readonly value: string; readonly onInput: (value: string) => void }) {
  return (
    <TextField
      label="Reason (optional)"
      hint="In the customer's words. The processor keeps it, and the subscription shows it."
      maxlength={reasonLengthMax}
      {...props}
    />
  );
}

/** Of the API. */
const reasonLengthMax = 500;

function reasonOf(text: string): { readonly cancellationReason?: string } {
  const reason = text.trim();
  return reason === '' ? {} : { cancellationReason: reason };
}

function PendingChangeIsDropped({
  subscription: { pendingChange },
  plans,
}: {
  readonly subscription: Subscription;
  readonly plans: DialogProps['plans'];
}) {
  if (pendingChange === null) return null;
  return <li>The pending change to {termsText(plans, pendingChange)} is dropped.</li>;
}
