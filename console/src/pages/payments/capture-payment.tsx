import { useState } from 'preact/hooks';
import { request } from '../../api/request.ts';
import type { Payment } from '../../api/types.ts';
import { money, moneyInput } from '../../format/money.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { AmountInput, amountWithin } from '../../parts/amount-input.tsx';

/** Takes all or a part of what is authorised. */
export function CapturePayment({
  payment,
  onClose,
}: {
  readonly payment: Payment;
  readonly onClose: (hasActed: boolean) => void;
}) {
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
      act={(idempotencyKey) =>
        request('POST', `/payments/${payment.id}/capture`, { idempotencyKey, body: { amount } })
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
