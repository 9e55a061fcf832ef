import type { Attempt, CustomerCalls } from '../processor.ts';
import { type CustomerFacts, UnmappableError } from '../processor-facts.ts';
import type { AdapterContext } from './adapter-context.ts';
import { done, isMissing, missing } from './attempt.ts';
import { createdSince, type Fetch, findByLocalId, mapPages } from './listing.ts';
import { mapCustomer } from './map-customer.ts';
import { localIdKey, WireObject } from './wire-object.ts';

export function createCustomerCalls(context: AdapterContext): CustomerCalls {
  const { stripe, call } = context;
  const fetchList =
    (filter: { created?: { gte: number } }): Fetch =>
    (page, options) =>
      stripe.customers.list({ ...filter, ...page }, options);

  const read: CustomerCalls['read'] = (processorCustomerId) =>
    call('customers.read', {
      kind: 'read',
      send: (options) => stripe.customers.retrieve(processorCustomerId, {}, options),
      take: takeCustomer,
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

    delete: (processorCustomerId) =>
      call('customers.delete', {
        kind: 'write',
        send: (options) => stripe.customers.del(processorCustomerId, {}, options),
        take: takeDeleted,
        refused: missing,
      }),

    find: async ({ localId, since }) => {
      const id = await findByLocalId(context, 'customers.list', fetchList(createdSince(since)), localId);
      const found = id === null ? null : await read(id);
      return found === 'deleted' ? null : found;
    },

    list: () => mapPages(context, 'customers.list', fetchList({}), (value) => mapCustomer(value)),
  };
}

function takeCustomer(answer: unknown): CustomerFacts | 'deleted' {
  const customer = WireObject.parse(answer, 'customer').expectKind('customer');
  return customer.isDeleted() ? 'deleted' : mapCustomer(answer);
}

function takeDeleted(answer: unknown): Attempt<'deleted'> {
  if (takeCustomer(answer) !== 'deleted')
    throw new UnmappableError('the customer was to be deleted and is not');
  return done('deleted');
}
