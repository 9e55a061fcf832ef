import { useState } from 'preact/hooks';
import type { Subscription } from '../../../../client/src/index.ts';
import { can } from '../../session.ts';
import type { Around, DialogProps } from './around.ts';
import { CancelAtPeriodEnd, CancelNow, KeepSubscription } from './cancel-subscription.tsx';
import { ChangeTerms } from './change-terms.tsx';
import { DropPendingChange } from './drop-pending-change.tsx';
import { PayNow } from './pay-now.tsx';
import { canChange, canPay, hasEnded } from './terms.ts';

interface Action {
  readonly label: string;
  readonly Dialog: (props: DialogProps) => preact.JSX.Element;
  readonly isPossible: (subscription: Subscription) => boolean;
}

const actions: readonly Action[] = [
  { label: 'Pay now', Dialog: PayNow, isPossible: canPay },
  { label: 'Change plan or quantity', Dialog: ChangeTerms, isPossible: canChange },
  {
    label: 'Drop the pending change',
    Dialog: DropPendingChange,
    isPossible: (subscription) => canChange(subscription) && subscription.pendingChange !== null,
  },
  {
    label: 'Keep it',
    Dialog: KeepSubscription,
    isPossible: (subscription) => canChange(subscription) && ends(subscription),
  },
  {
    label: 'Cancel at period end',
    Dialog: CancelAtPeriodEnd,
    isPossible: (subscription) => canChange(subscription) && !subscription.cancelAtPeriodEnd,
  },
  { label: 'Cancel now', Dialog: CancelNow, isPossible: (subscription) => !hasEnded(subscription) },
];

/** With its period, or at a later date that was set elsewhere. Keeping the subscription takes back both. */
function ends({ cancelAtPeriodEnd, cancelAt }: Subscription): boolean {
  return cancelAtPeriodEnd || cancelAt !== null;
}

/** The buttons of the page of a subscription. */
export function SubscriptionActions({ onActed, ...around }: Around & { readonly onActed: () => void }) {
  const [open, setOpen] = useState<Action | undefined>(undefined);
  if (!can('write')) return null;
  return (
    <>
      {actions
        .filter(({ isPossible }) => isPossible(around.subscription))
        .map((action) => (
          <button key={action.label} type="button" onClick={() => setOpen(action)}>
            {action.label}
          </button>
        ))}
      {open !== undefined && (
        <open.Dialog
          {...around}
          onClose={(hasActed) => {
            setOpen(undefined);
            if (hasActed) onActed();
          }}
        />
      )}
    </>
  );
}
