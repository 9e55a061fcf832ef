import type { CustomerFacts } from '#core/model/customer.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { mapItems, withLocalId } from '#engine/sync/adopted-facts.ts';
import { rowsOf, type Stage, stageOf } from '#engine/sync/import-stage.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { CustomerMirror } from './customer-mirror.ts';

export interface ImportContext {
  readonly processor: Processor;
  readonly mirrors: { readonly customers: CustomerMirror };
}

export function customerStage({ processor, mirrors }: ImportContext): Stage<CustomerFacts> {
  return stageOf(
    mirroredList(mirrors.customers, processor.customers),
    rowsOf(mirrors.customers, 'processorCustomerId'),
  );
}

export function adoptingCustomers({ customers, events }: Processor): Pick<Processor, 'customers' | 'events'> {
  return {
    customers: {
      ...customers,
      read: async (id) => {
        const facts = await customers.read(id);
        return facts === null || facts === 'deleted' ? facts : adoptCustomer(facts);
      },
      list: (filter) => mapItems(customers.list(filter), adoptCustomer),
    },
    events: {
      ...events,
      // This would search for the Till id of a deleted customer. A customer that Till did not create has none, and each
      // search lists all deletions of a month.
      findDeletedCustomer: async () => null,
    },
  };
}

function adoptCustomer(facts: CustomerFacts): CustomerFacts {
  return withLocalId(facts, 'customer', facts.processorCustomerId);
}
