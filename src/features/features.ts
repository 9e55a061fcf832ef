import { type EventTypes, namesOf } from '#engine/events/event.ts';
import type { ErasedFields } from '#engine/events/outbox/personal-data.ts';
import type { OwnedRows } from '#engine/mirrors/erased-store.ts';
import type { Total } from '#engine/overview/counted-kind.ts';
import { checkoutFeature } from './checkouts/checkout-feature.ts';
import { customerFeature } from './customers/customer-feature.ts';
import { invoiceFeature } from './invoices/invoice-feature.ts';
import { paymentMethodFeature } from './payment-methods/payment-method-feature.ts';
import { paymentFeature } from './payments/payment-feature.ts';
import { planFeature } from './plans/plan-feature.ts';
import { portalFeature } from './portal/portal-feature.ts';
import { subscriptionFeature } from './subscriptions/subscription-feature.ts';
import { usageFeature } from './usage/usage-feature.ts';

/**
 * In the order in which people see them. Their mirrors apply the events of a batch in this order too, so that every
 * transaction locks the tables in one order.
 */
export const features = [
  customerFeature,
  paymentMethodFeature,
  portalFeature,
  planFeature,
  paymentFeature,
  subscriptionFeature,
  usageFeature,
  invoiceFeature,
  checkoutFeature,
] as const;

/** The types of all events. Those that report no change of an object come last. */
export const eventTypes: readonly EventTypes[] = features
  .flatMap<EventTypes>(({ events = [] }) => events)
  .toSorted((a, b) => Number(a.shownBy === undefined) - Number(b.shownBy === undefined));

export const eventNames = namesOf(eventTypes);

/** All lists that are compared with the processor, by the names of the resources. */
export const lists = Object.fromEntries(features.flatMap((feature) => Object.entries(feature.lists ?? {})));

/** The personal data of customers, in the order in which a deletion locks the tables. */
export const ownedRows = features.flatMap<OwnedRows>(({ owned = [] }) => owned);

/** What the API shows in place of personal data, by the types of the objects. */
export const erasedFields: Readonly<Record<string, ErasedFields>> = Object.assign(
  {},
  ...features.map(({ erased }) => erased),
);

/** The numbers of objects in the totals and days of the overview, by their names in the API. */
export const totals: Readonly<Record<string, Total>> = Object.assign(
  {},
  ...features.map((feature) => feature.totals),
);

/** The types of the objects that a search finds. */
export const foundTypes = features.flatMap(({ search }) => Object.keys(search ?? {}));

/** All lists that an import adopts, by their names. */
export const imports = Object.fromEntries(
  features.flatMap((feature) => Object.entries(feature.imports ?? {})),
);
