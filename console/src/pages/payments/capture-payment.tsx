import type { Payment } from '@till/client';
import { useState } from 'preact/hooks';
import { money, moneyInput } from '../../format/money.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { AmountInput, amountWithin } from '../../parts/amount-input.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { till } from '../../session.ts';

/** Captures all or part of an authorised payment. */
export function CapturePayment({ payment, onClose }: Closing & { readonly payment: Payment }) {
  const { currency, amountCapturable: max } = payment;
  const [text, setText] = useState(moneyInput(max, currency));
  const amount = amountWithin(text, currency, max);
  const shown = amount === undefined ? '' : money(amount, currency);
  return (
    <ActionDialog
      title="Capture payment"
      confirm={`Capture ${shown}`}
      isReady={amount !== undefined}
      done={`Captured ${shown}`}
      onClose={onClose}
      // The API refuses 0. A missing amount would be all of it.
      act={(idempotencyKey) =>
        till().payments.capture(payment.id, { amount: amount ?? 0 }, { idempotencyKey })
      }
    >
      <AmountInput label="Amount" value={text} currency={currency} max={max} onInput={setText} />
      {amount !== undefined && (
        <p>
          The customer pays {shown}.{' '}
          {amount < max &&
            `The remaining ${money(max - amount, currency)} is released and cannot be captured later.`}
        </p>
      )}
    </ActionDialog>
  );
}
