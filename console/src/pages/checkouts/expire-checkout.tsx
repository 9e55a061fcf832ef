import type { Checkout } from '@till/client';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { till } from '../../session.ts';

/** Ends a checkout before the buyer completes it. */
export function ExpireCheckout({
  checkout: { id, mode },
  onClose,
}: Closing & { readonly checkout: Checkout }) {
  return (
    <ActionDialog
      title="Expire checkout"
      confirm="Expire checkout"
      isDangerous
      done="Checkout expired"
      onClose={onClose}
      act={(idempotencyKey) => till().checkouts.expire(id, { idempotencyKey })}
    >
      <p>
        The buyer can no longer {results[mode]} on its page, even if it is open in a browser. Nothing is
        charged or refunded.
      </p>
    </ActionDialog>
  );
}

const results: Readonly<Record<Checkout['mode'], string>> = {
  subscription: 'subscribe',
  payment: 'pay',
  setup: 'save a card',
};
