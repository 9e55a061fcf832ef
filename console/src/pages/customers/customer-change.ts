import type { Customer, NewCustomer } from '@till/client';

/** The inputs of the form. */
export interface CustomerInputs {
  readonly email: string;
  readonly name: string;
  readonly phone: string;
  readonly externalId: string;
}

export const inputLabels: Readonly<Record<keyof CustomerInputs, string>> = {
  email: 'E-mail',
  name: 'Name',
  phone: 'Phone',
  externalId: 'External id',
};

const names = ['email', 'name', 'phone', 'externalId'] as const;

export function inputsOf({ email, name, phone, externalId }: Customer): CustomerInputs {
  return { email, name: name ?? '', phone: phone ?? '', externalId: externalId ?? '' };
}

/**
 * Sends only the fields that differ, so that concurrent changes elsewhere are kept. An empty input clears its field.
 */
export function customerChange(
  customer: Customer,
  inputs: CustomerInputs,
): Readonly<Record<string, string | null>> {
  const before = inputsOf(customer);
  const changed = names.filter((name) => inputs[name].trim() !== before[name]);
  return Object.fromEntries(changed.map((name) => [name, inputs[name].trim() || null]));
}

/** The changes as sentences: Name: Ada → Ada King. */
export function changeTexts(customer: Customer, inputs: CustomerInputs): readonly string[] {
  const before = inputsOf(customer);
  const change = customerChange(customer, inputs);
  return names.flatMap((name) =>
    name in change ? [`${inputLabels[name]}: ${before[name] || 'none'} → ${change[name] ?? 'none'}`] : [],
  );
}

export const noInputs: CustomerInputs = { email: '', name: '', phone: '', externalId: '' };

/** What to send to create a customer: the inputs that are filled in. */
export function newCustomer(inputs: CustomerInputs): NewCustomer {
  const filled = names.flatMap((name) => (inputs[name].trim() === '' ? [] : [[name, inputs[name].trim()]]));
  return { email: '', ...Object.fromEntries(filled) };
}

/** Whether the API accepts it: visible characters without spaces. */
export function isExternalId(text: string): boolean {
  return !/[\s\p{C}]/u.test(text.trim());
}

/** Finds obvious mistakes while the user types. The server decides. */
export function isEmail(text: string): boolean {
  return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text.trim());
}
