import { useId } from 'preact/hooks';
import { money, parseMoney } from '../format/money.ts';

/** An amount of a currency, up to a maximum. */
export function AmountInput({
  label,
  value,
  currency,
  max,
  onInput,
}: {
  readonly label: string;
  readonly value: string;
  readonly currency: string;
  readonly max: number;
  readonly onInput: (value: string) => void;
}) {
  const id = useId();
  const isValid = amountWithin(value, currency, max) !== undefined;
  return (
    <div class="field">
      <label for={id}>
        {label} ({currency.toUpperCase()})
      </label>
      <input
        id={id}
        inputmode="decimal"
        autocomplete="off"
        value={value}
        aria-invalid={!isValid}
        aria-describedby={`${id}-hint`}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <p id={`${id}-hint`} class="quiet">
        {isValid ? `At most ${money(max, currency)}.` : `Enter an amount up to ${money(max, currency)}.`}
      </p>
    </div>
  );
}

/** The typed amount in the smallest unit. Undefined if it is malformed, zero or too large. */
export function amountWithin(text: string, currency: string, max: number): number | undefined {
  const amount = parseMoney(text, currency);
  return amount !== undefined && amount > 0 && amount <= max ? amount : undefined;
}
