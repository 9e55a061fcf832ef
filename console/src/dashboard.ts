import { currentKey } from './session.ts';

const sections = {
  customer: 'customers',
  product: 'products',
  payment: 'payments',
  subscription: 'subscriptions',
  invoice: 'invoices',
  event: 'events',
} as const;

/** The address of an object in the processor's dashboard. Null with the sandbox, which has none. */
export function dashboardLink(section: keyof typeof sections, id: string): string | null {
  const base = currentKey.value?.processor.dashboardUrl ?? null;
  return base === null ? null : `${base}/${sections[section]}/${encodeURIComponent(id)}`;
}
