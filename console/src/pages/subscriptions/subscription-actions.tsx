import type { Subscription } from '@till/client';
import type { Action } from '../../parts/actions.tsx';
import { can } from '../../session.ts';
import type { Around } from './around.ts';
import { CancelAtPeriodEnd, CancelNow, KeepSubscription } from './cancel-subscription.tsx';
import { ChangeTerms } from './change-terms.tsx';
import { DropPendingChange } from './drop-pending-change.tsx';
import { PayNow } from './pay-now.tsx';
import { canChange, canPay, hasEnded } from './terms.ts';

/** What an operator can do with a subscription. */
export const subscriptionActions: readonly Action<Around>[] = [
  { label: 'Pay now', Dialog: PayNow, isPossible: possible(canPay) },
  { label: 'Change plan or quantity', Dialog: ChangeTerms, isPossible: possible(canChange) },
  {
    label: 'Drop the pending change',
    Dialog: DropPendingChange,
    isPossible: possible((subscription) => canChange(subscription) && subscription.pendingChange !== null),
  },
  {
    label: 'Keep it',
    Dialog: KeepSubscription,
    isPossible: possible((subscription) => canChange(subscription) && ends(subscription)),
  },
  {
    label: 'Cancel at period end',
    Dialog: CancelAtPeriodEnd,
    isPossible: possible((subscription) => canChange(subscription) && !subscription.cancelAtPeriodEnd),
  },
  { label: 'Cancel now', Dialog: CancelNow, isPossible: possible((subscription) => !hasEnded(subscription)) },
];

/** With its period, or at a later date that was set elsewhere. Keeping the subscription takes back both. */
function ends({ cancelAtPeriodEnd, cancelAt }: Subscription): boolean {
  return cancelAtPeriodEnd || cancelAt !== null;
}

function possible(is: (subscription: Subscription) => boolean): (around: Around) => boolean {
  return ({ subscription }) => can('write') && is(subscription);
}
