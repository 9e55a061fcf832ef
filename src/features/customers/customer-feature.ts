import type { Customer } from '#core/model/customer.ts';
import type { Feature } from '#engine/feature.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byFields, byIds, caseless, type SearchSource, visible } from '#engine/search/search-source.ts';
import { type Comparison, comparedWith } from '#engine/search/searched-words.ts';
import type { ResyncScope, UnlistedObjects } from '#engine/sync/compared-list.ts';
import { adoptingCustomers, customerStage, type ImportContext } from './customer-import.ts';
import { customerEvents, customerKind, erasedCustomer } from './customer-kind.ts';
import { registerCustomerRoutes } from './customer-routes.ts';
import type { CustomerService } from './customer-service.ts';
import { type CustomerStore, customerList } from './customer-store.ts';

interface Context extends ImportContext {
  readonly stores: { readonly customers: CustomerStore };
  readonly customers: CustomerService;
  readonly checkouts: { expireOfCustomer(customerId: string): Promise<void> };
  readonly subscriptions: { correctOfCustomer(customerId: string): Promise<void> };
}

export const customerFeature: Feature<Context> = {
  tags: [{ name: 'customers', description: 'People or companies that pay you.' }],
  routes: (app, { customers, checkouts, subscriptions }) =>
    registerCustomerRoutes(app, customers, {
      expireCheckouts: (customerId) => checkouts.expireOfCustomer(customerId),
      correctSubscriptions: (customerId) => subscriptions.correctOfCustomer(customerId),
    }),
  operations: ({ customers }) => [customers.creation, customers.updating],
  events: [customerEvents],
  kinds: () => [customerKind],
  subjects: ({ mirrors }) => ({ customer: mirrors.customers }),
  erased: { customer: erasedCustomer },
  search: { customer: ({ stores }) => customerSources(stores.customers) },
  lists: {
    customer: {
      open: ({ processor, mirrors }) => mirroredList(mirrors.customers, processor.customers),
      count: async ({ customers }) => (await customers.list({ limit: 1, filters: {} })).total,
      remembersListed: true,
      unlisted: unlistedCustomers,
    },
  },
  imports: { customer: { after: ['plan'], open: customerStage } },
  adopting: adoptingCustomers,
  countedLists: [customerList],
};

/** The processor does not list deleted customers, so every customer that is missing is refreshed. */
async function* unlistedCustomers(
  { customers, mirrors }: Context,
  { customerId, listed }: ResyncScope,
): AsyncIterable<UnlistedObjects> {
  const mirror = mirrors.customers;
  if (customerId !== undefined) {
    const customer = await customers.findAny(customerId);
    if (customer?.deletedAt === null) yield { mirror, keys: [customer.processorCustomerId] };
    return;
  }
  for await (const page of customers.listLive()) {
    const keys = page.map(({ processorCustomerId }) => processorCustomerId);
    yield { mirror, keys: keys.filter((key) => !listed.has(key)) };
  }
}

function customerSources(store: CustomerStore): readonly SearchSource[] {
  return [
    byIds(store, showCustomer),
    visible(byFields((...by) => store.searchExternalIds(...by), showCustomer, ['externalId'], caseless)),
    byFields((...by) => store.searchPeople(...by), showCustomer, ['name', 'email'], compareWithPeople),
  ];
}

/** If both the name and the email have the text, the better match counts. */
function compareWithPeople(text: string): (value: string, field: 'name' | 'email') => Comparison | undefined {
  const compare = comparedWith(text);
  const email = caseless(text);
  return (value, field) => {
    const found = compare(value);
    // With an accent it is the address of another person.
    return found === undefined || field === 'name'
      ? found
      : { ...found, exact: email(value)?.exact ?? false };
  };
}

function showCustomer(row: Customer): Found {
  const { id, email, name, createdAt, deletedAt } = row;
  const shown = { ...nothing, objectType: 'customer', objectId: id, customerId: id, createdAt };
  if (deletedAt !== null) return { ...shown, label: row.processorCustomerId, status: 'deleted' };
  return { ...shown, label: name ?? email ?? row.processorCustomerId, description: email };
}
