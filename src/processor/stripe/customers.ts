import type { CustomerCalls } from '../processor.ts';
import type { AdapterContext } from './adapter-context.ts';
import { done, isMissing, missing } from './attempt.ts';
import { createdSince, type Fetch, findByLocalId, mapPages } from './listing.ts';
import { mapCustomer } from './map-customer.ts';
import { localIdKey, WireObject } from './wire-object.ts';

export function createCustomerCalls(context: AdapterContext): CustomerCalls {
  const { stripe, call } = context;
  const read: CustomerCalls['read'] = (processorCustomerId) =>
    call('customers.read', {
      kind: 'read',
      send: (options) => stripe.customers.retrieve(processorCustomerId, {}, options),
      take: (answer) => (WireObject.parse(answer, 'customer').isDeleted() ? 'deleted' : mapCustomer(answer)),
      refused: (refusal) => (isMissing(refusal) ? null : undefined),
    });

  return {
    create: ({ id, email, name, phone, idempotencyKey }) =>
      call('customers.create', {
        kind: 'write',
        send: (options) =>
          stripe.customers.create(
            {
              email,
              ...(name === null ? {} : { name }),
              ...(phone === null ? {} : { phone }),
              metadata: { [localIdKey]: id },
            },
            { ...options, idempotencyKey },
          ),
        take: (answer) => mapCustomer(answer),
      }),

    read,

    update: ({ processorCustomerId, email, name, phone, idempotencyKey }) =>
      call('customers.update', {
        kind: 'write',
        send: (options) =>
          stripe.customers.update(
            processorCustomerId,
            {
              ...(email === undefined ? {} : { email }),
              // On the wire an empty text is what clears a field.
              ...(name === undefined ? {} : { name: name ?? '' }),
              ...(phone === undefined ? {} : { phone: phone ?? '' }),
            },
            { ...options, idempotencyKey },
          ),
        take: (answer) => done(mapCustomer(answer)),
        refused: missing,
      }),

    delete: async (processorCustomerId) => {
      await call('customers.delete', {
        kind: 'write',
        send: (options) => stripe.customers.del(processorCustomerId, {}, options),
        take: (answer) => WireObject.parse(answer, 'customer').expectKind('customer').flag('deleted'),
        refused: (refusal) => isMissing(refusal) || undefined,
      });
    },

    find: async ({ localId, since }) => {
      const id = await findByLocalId(context, 'customers.list', fetchSince(context, since), localId);
      const found = id === null ? null : await read(id);
      return found === 'deleted' ? null : found;
    },

    list: ({ since } = {}) =>
      mapPages(context, 'customers.list', fetchSince(context, since), (value) => mapCustomer(value)),
  };
}

/** All customers, or those made since. */
function fetchSince({ stripe }: AdapterContext, since: Date | undefined): Fetch {
  return (page, options) => stripe.customers.list({ ...(since && createdSince(since)), ...page }, options);
}
