import { isCurrency } from '../format/money.ts';
import { AmountInput } from './amount-input.tsx';
import { TextField } from './field.tsx';

/** An amount in a currency that is typed too. */
export function MoneyFields({
  amount,
  currency,
  min = 1,
  max,
  hint,
  onChange,
}: {
  readonly amount: string;
  readonly currency: string;
  readonly min?: number;
  readonly max: number;
  readonly hint?: string;
  readonly onChange: (change: { readonly amount: string } | { readonly currency: string }) => void;
}) {
  const setAmount = (text: string) => onChange({ amount: text });
  return (
    <div class="field-row">
      {isCurrency(currency) ? (
        <AmountInput
          label="Amount"
          value={amount}
          currency={currency.trim()}
          min={min}
          max={max}
          hint={hint ?? ''}
          onInput={setAmount}
        />
      ) : (
        <TextField label="Amount" value={amount} onInput={setAmount} />
      )}
      <TextField
        label="Currency"
        value={currency}
        maxlength={3}
        isValid={isCurrency(currency)}
        hint="Three letters."
        onInput={(text) => onChange({ currency: text })}
      />
    </div>
  );
}
