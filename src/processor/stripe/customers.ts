import type { CustomerCalls } from '../processor.ts';
import type { AsOf, CustomerFacts } from '../processor-facts.ts';
import type { AdapterContext } from './adapter-context.ts';
import { sinceCreation } from './answer-time.ts';
import { done, isMissing, missing } from './attempt.ts';
import { createdSince, type Fetch, findByLocalId, mapPages } from './listing.ts';
import { mapCustomer } from './map-customer.ts';
import { localIdKey, WireObject, withKnownLinks } from './wire-object.ts';

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
      take: (answer, asOf) =>
        WireObject.parse(answer, 'customer').isDeleted() ? 'deleted' : mapAnswer(answer, asOf),
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
        take: (answer, asOf) => mapCreated(answer, { id, email }, sinceCreation(answer, asOf)),
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
        take: (answer, asOf) => done(mapAnswer(answer, asOf)),
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
      const id = await findByLocalId(context, 'customers.list', fetchList(createdSince(since)), localId);
      const found = id === null ? null : await read(id);
      return found === 'deleted' ? null : found;
    },

    list: () => mapPages(context, 'customers.list', fetchList({}), mapCustomer),
  };
}

/** A customer must have an address: the one that was sent, if the response leaves it out. */
function mapCreated(
  answer: unknown,
  { id, email }: { readonly id: string; readonly email: string },
  asOf: AsOf,
): CustomerFacts {
  const facts = mapCustomer(withKnownLinks(answer, { localId: id }), asOf);
  return { ...facts, email: facts.email ?? email };
}

function mapAnswer(answer: unknown, asOf: AsOf): CustomerFacts {
  return mapCustomer(withKnownLinks(answer, { localId: null }), asOf);
}
