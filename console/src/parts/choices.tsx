import { useId } from 'preact/hooks';

interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** What it means. */
  readonly hint: string;
}

/** One of a few choices, each with what it means. */
export function Choices<Value extends string>({
  label,
  value,
  of,
  onChange,
}: {
  readonly label: string;
  readonly value: Value;
  readonly of: readonly Choice<Value>[];
  readonly onChange: (value: Value) => void;
}) {
  const id = useId();
  return (
    <fieldset class="choices">
      <legend>{label}</legend>
      {of.map((choice) => (
        <div key={choice.value} class="choice">
          <input
            type="radio"
            id={`${id}-${choice.value}`}
            name={id}
            checked={choice.value === value}
            aria-describedby={`${id}-${choice.value}-hint`}
            onChange={() => onChange(choice.value)}
          />
          <div>
            <label for={`${id}-${choice.value}`}>{choice.label}</label>
            <p id={`${id}-${choice.value}-hint`} class="quiet">
              {choice.hint}
            </p>
          </div>
        </div>
      ))}
    </fieldset>
  );
}
