import type { Customer } from '#core/model/customer.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byFields, byIds, caseless, type SearchSource, visible } from '#engine/search/search-source.ts';
import { type Comparison, comparedWith } from '#engine/search/searched-words.ts';
import type { CustomerStore } from './customer-store.ts';

export function customerSources(store: CustomerStore): readonly SearchSource[] {
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
