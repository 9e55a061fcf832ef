import { useId } from 'preact/hooks';
import { money, parseMoney } from '../format/money.ts';

/** An amount of a currency, within limits. */
export function AmountInput({
  label,
  value,
  currency,
  min = 1,
  max,
  hint = `At most ${money(max, currency)}.`,
  onInput,
}: {
  readonly label: string;
  readonly value: string;
  readonly currency: string;
  /** More than nothing by default. */
  readonly min?: number;
  readonly max: number;
  readonly hint?: string;
  readonly onInput: (value: string) => void;
}) {
  const id = useId();
  const isValid = amountWithin(value, currency, max, min) !== undefined;
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
        aria-invalid={!isValid && value !== ''}
        aria-describedby={`${id}-hint`}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <p id={`${id}-hint`} class="quiet">
        {isValid || value === '' ? hint : `Enter an amount up to ${money(max, currency)}.`}
      </p>
    </div>
  );
}

/** The typed amount in the smallest unit. Undefined if it is malformed or out of its limits. */
export function amountWithin(text: string, currency: string, max: number, min = 1): number | undefined {
  const amount = parseMoney(text, currency);
  return amount !== undefined && amount >= min && amount <= max ? amount : undefined;
}
