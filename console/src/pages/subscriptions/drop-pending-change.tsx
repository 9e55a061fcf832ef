import { localTime } from '../../format/local-time.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { till } from '../../session.ts';
import type { DialogProps } from './around.ts';
import { adviceOnChange } from './change-advice.tsx';
import { termsText, termsWithPrice } from './terms.ts';

/** Drops a pending change, by a change to the current plan, quantity and add-ons. */
export function DropPendingChange({ subscription, plans, onClose }: DialogProps) {
  const { id, planId, quantity, addOns, pendingChange } = subscription;
  const waiting = termsText(plans, pendingChange ?? subscription);
  const at = pendingChange?.at ?? null;
  return (
    <ActionDialog
      title="Drop the pending change"
      confirm="Drop the change"
      isDangerous
      done="The pending change is dropped"
      adviceOn={adviceOnChange}
      onClose={onClose}
      act={(idempotencyKey) =>
        till().subscriptions.update(id, { planId, quantity, addOns, proration: 'none' }, { idempotencyKey })
      }
    >
      <p>
        The change to {waiting}
        {at === null
          ? ', which waits for the customer to authenticate its payment, is dropped. Its invoice is voided.'
          : `, planned for ${localTime(at)}, is dropped.`}
      </p>
      <p>The subscription stays at {termsWithPrice(plans, subscription)}. Nothing is charged or refunded.</p>
    </ActionDialog>
  );
}
