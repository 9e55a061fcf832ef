import type { Payment } from '@till/client';
import { useState } from 'preact/hooks';
import { refundReasons } from '../../../../src/core/model/refund.ts';
import { money, moneyInput } from '../../format/money.ts';
import { words } from '../../format/words.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import { AmountInput, amountWithin } from '../../parts/amount-input.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import { till } from '../../session.ts';

export function canRefund(payment: Payment): boolean {
  return payment.status === 'succeeded' && refundable(payment) > 0;
}

function refundable({ amountReceived, amountRefunded }: Payment): number {
  return amountReceived - amountRefunded;
}

/** Refunds all or part of a payment. */
export function RefundPayment({ payment, onClose }: Closing & { readonly payment: Payment }) {
  const { currency } = payment;
  const max = refundable(payment);
  const [text, setText] = useState(moneyInput(max, currency));
  const [reason, setReason] = useState<(typeof refundReasons)[number] | ''>('');
  const amount = amountWithin(text, currency, max);
  const shown = amount === undefined ? '' : money(amount, currency);
  return (
    <ActionDialog
      title="Refund payment"
      confirm={`Refund ${shown}`}
      isDangerous
      isReady={amount !== undefined}
      done={`Refunded ${shown}`}
      onClose={onClose}
      // The API refuses 0. A missing amount would be all of it.
      act={(idempotencyKey) =>
        till().payments.refund(
          payment.id,
          { amount: amount ?? 0, ...(reason === '' ? {} : { reason }) },
          { idempotencyKey },
        )
      }
    >
      <AmountInput label="Amount" value={text} currency={currency} max={max} onInput={setText} />
      <SelectField
        label="Reason"
        value={reason}
        onInput={(value) => setReason(refundReasons.find((one) => one === value) ?? '')}
      >
        <option value="">No reason</option>
        {refundReasons.map((one) => (
          <option key={one} value={one}>
            {words(one)}
          </option>
        ))}
      </SelectField>
      {amount !== undefined && (
        <p>
          The customer gets {shown} of {money(payment.amountReceived, currency)} back.{' '}
          {amount === max
            ? 'Nothing is left to refund after that.'
            : `${money(max - amount, currency)} can still be refunded after that.`}{' '}
          A refund cannot be undone.
        </p>
      )}
    </ActionDialog>
  );
}
