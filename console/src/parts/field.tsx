import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: string;
  readonly isValid?: boolean;
}

/** A line of text. */
export function TextField({
  label,
  value,
  onInput,
  hint = '',
  isValid = true,
  ...attributes
}: FieldProps & {
  readonly inputmode?: 'numeric' | 'text';
  readonly maxlength?: number;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        autocomplete="off"
        value={value}
        aria-invalid={!isValid}
        {...(hint === '' ? {} : { 'aria-describedby': `${id}-hint` })}
        {...attributes}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      {hint !== '' && (
        <p id={`${id}-hint`} class="quiet">
          {hint}
        </p>
      )}
    </div>
  );
}

/** One of several options. */
export function SelectField({
  label,
  value,
  onInput,
  children,
}: Pick<FieldProps, 'label' | 'value' | 'onInput'> & { readonly children: ComponentChildren }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onInput(currentTarget.value)}>
        {children}
      </select>
    </div>
  );
}
