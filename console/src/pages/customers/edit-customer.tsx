import type { Customer } from '@till/client';
import { useState } from 'preact/hooks';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { till } from '../../session.ts';
import {
  type CustomerInputs,
  changeTexts,
  customerChange,
  inputLabels,
  inputsOf,
  isEmail,
  isExternalId,
} from './customer-change.ts';

/** What the API accepts. */
const lengthsMax: Readonly<Record<keyof CustomerInputs, number>> = {
  email: 254,
  name: 256,
  phone: 32,
  externalId: 255,
};

export function EditCustomer({ customer, onClose }: Closing & { readonly customer: Customer }) {
  // The values when the dialog opened: a change that arrives meanwhile must not be undone.
  const [before] = useState(customer);
  const [inputs, setInputs] = useState(() => inputsOf(customer));
  const changes = changeTexts(before, inputs);
  const hasEmail = isEmail(inputs.email) || inputs.email === before.email;
  return (
    <ActionDialog
      title="Edit customer"
      confirm="Save changes"
      isReady={changes.length > 0 && hasEmail && isExternalId(inputs.externalId)}
      done="Customer saved"
      onClose={onClose}
      act={(idempotencyKey) =>
        till().customers.update(customer.id, customerChange(before, inputs), { idempotencyKey })
      }
    >
      <CustomerFields inputs={inputs} hasEmail={hasEmail} onChange={setInputs} />
      {changes.length === 0 ? (
        <p class="quiet">Nothing is changed yet.</p>
      ) : (
        <>
          <p>This changes, here and at the processor:</p>
          <ul>
            {changes.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </>
      )}
    </ActionDialog>
  );
}

/** The inputs that a new customer and a change of one have in common. */
export function CustomerFields({
  inputs,
  hasEmail,
  onChange,
}: {
  readonly inputs: CustomerInputs;
  /** False marks the e-mail as wrong. */
  readonly hasEmail: boolean;
  readonly onChange: (inputs: CustomerInputs) => void;
}) {
  const field = (name: keyof CustomerInputs, hint: string, isValid = true) => (
    <TextField
      label={inputLabels[name]}
      value={inputs[name]}
      maxlength={lengthsMax[name]}
      hint={hint}
      isValid={isValid}
      onInput={(value) => onChange({ ...inputs, [name]: value })}
    />
  );
  const hasExternalId = isExternalId(inputs.externalId);
  return (
    <>
      {field('email', hasEmail ? '' : 'Enter an e-mail address.', hasEmail)}
      {field('name', '')}
      {field('phone', '')}
      {field(
        'externalId',
        hasExternalId
          ? "Your application's own id of the customer. No two customers have the same."
          : 'Enter an id without spaces.',
        hasExternalId,
      )}
    </>
  );
}
