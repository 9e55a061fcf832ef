import type { SearchResult } from '@till/client';
import { pageOf } from '../links.ts';

/** Results under one heading. */
export interface ResultGroup {
  readonly title: string;
  /** Whether the results can have different types. */
  readonly isMixed: boolean;
  readonly results: readonly SearchResult[];
}

const typeTexts: Readonly<
  Record<SearchResult['objectType'], { readonly one: string; readonly many: string }>
> = {
  customer: { one: 'Customer', many: 'Customers' },
  plan: { one: 'Plan', many: 'Plans' },
  payment: { one: 'Payment', many: 'Payments' },
  refund: { one: 'Refund', many: 'Refunds' },
  subscription: { one: 'Subscription', many: 'Subscriptions' },
  invoice: { one: 'Invoice', many: 'Invoices' },
  checkout: { one: 'Checkout', many: 'Checkouts' },
  webhook_event: { one: 'Webhook event', many: 'Webhook events' },
  event: { one: 'Event', many: 'Events' },
};

const matchTexts: Readonly<Record<SearchResult['matched'], string>> = {
  id: 'id',
  processorId: 'processor id',
  externalId: 'external id',
  email: 'e-mail',
  number: 'number',
  name: 'name',
  last4: 'last digits of the card',
  amount: 'amount',
};

export function typeText({ objectType }: SearchResult): string {
  return typeTexts[objectType].one;
}

/** Fields in which a text is found anywhere, not only at the beginning. */
const searchedWithin: readonly SearchResult['matched'][] = ['name', 'email'];

/** Which value matched, so that the user sees why this was found. */
export function matchText({ matched, exact }: SearchResult): string {
  if (exact) return `Same ${matchTexts[matched]}`;
  return `${capitalized(matchTexts[matched])} ${searchedWithin.includes(matched) ? 'contains' : 'begins with'} it`;
}

/** What matches exactly comes first, and the rest by type, in the order in which the API found it. */
export function groupResults(results: readonly SearchResult[]): readonly ResultGroup[] {
  const exact = results.filter((result) => result.exact);
  const others = Map.groupBy(
    results.filter((result) => !result.exact),
    ({ objectType }) => objectType,
  );
  return [
    ...(exact.length === 0
      ? []
      : [{ title: exact.length === 1 ? 'Exact match' : 'Exact matches', isMixed: true, results: exact }]),
    ...[...others].map(([type, found]) => ({ title: typeTexts[type].many, isMixed: false, results: found })),
  ];
}

/** The page that shows what was found. Null if no page does. */
export function pageOfResult(result: SearchResult): string | null {
  const { objectType, objectId, customerId, paymentId, label, description } = result;
  switch (objectType) {
    case 'refund':
      return paymentId === null ? null : pageOf('payment', paymentId);
    case 'webhook_event':
      return pageOf('webhookEvent', objectId);
    case 'event':
      return pageOfEvent(label, description, customerId);
    default:
      return pageOf(objectType, objectId);
  }
}

/** An event is in the timeline of its object. Its label is its type, which begins with that of the object. */
function pageOfEvent(type: string, objectId: string | null, customerId: string | null): string | null {
  const [objectType] = type.split('.');
  switch (objectType) {
    case 'customer':
    case 'plan':
    case 'payment':
    case 'subscription':
    case 'invoice':
      return objectId === null ? null : pageOf(objectType, objectId);
    default:
      return customerId === null ? null : pageOf('customer', customerId);
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
