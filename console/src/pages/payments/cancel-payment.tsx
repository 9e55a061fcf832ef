import type { Payment } from '@till/client';
import { money } from '../../format/money.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { till } from '../../session.ts';

/** Ends a payment that is not paid. */
export function CancelPayment({ payment, onClose }: Closing & { readonly payment: Payment }) {
  const { amount, amountCapturable, currency } = payment;
  return (
    <ActionDialog
      title="Cancel payment"
      confirm="Cancel payment"
      dismiss="Go back"
      isDangerous
      done="Payment canceled"
      onClose={onClose}
      act={(idempotencyKey) => till().payments.cancel(payment.id, { idempotencyKey })}
    >
      <p>
        The payment of {money(amount, currency)} can no longer be paid after that.
        {amountCapturable > 0 &&
          ` The ${money(amountCapturable, currency)} that the customer's bank has authorised is released.`}
      </p>
    </ActionDialog>
  );
}
