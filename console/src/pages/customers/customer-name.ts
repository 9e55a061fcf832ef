import type { Customer } from '../../../../client/src/index.ts';

/** What people call a customer. An e-mail can be missing if the customer was created at the processor. */
export function customerName({ name, email, processorCustomerId }: Customer): string {
  return name ?? (email === '' ? processorCustomerId : email);
}
