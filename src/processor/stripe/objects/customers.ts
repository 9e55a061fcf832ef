import type { CustomerFacts } from '#core/model/customer.ts';
import type { AsOf } from '#core/model/facts.ts';
import type { Metadata } from '#core/model/metadata.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type { Attempt, CustomerCalls, CustomerValues } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { createdSince, fetchFrom, mapPages } from '../wire/listing.ts';
import { searchMarked, withRequest } from '../wire/request-marks.ts';
import { done, missing, nullIfMissing, sinceCreation } from '../wire/responses.ts';
import { changedMetadata, externalIdKey, markMetadata } from '../wire/wire-metadata.ts';
import { localIdKey, WireObject, withKnownLinks } from '../wire/wire-object.ts';
import { mapCustomer } from './map-customer.ts';

export function createCustomerCalls(context: AdapterContext): CustomerCalls {
  const { stripe, call } = context;
  const read: CustomerCalls['read'] = (processorCustomerId) =>
    call.read('customers.read', {
      send: (options) => stripe.customers.retrieve(processorCustomerId, {}, options),
      take: takeCustomer,
      refused: nullIfMissing,
    });

  return {
    create: ({ id, mark, email, name, phone, externalId, metadata, idempotencyKey }) =>
      call.write('customers.create', {
        idempotencyKey,
        send: (options) =>
          stripe.customers.create(
            {
              email,
              ...(name === null ? {} : { name }),
              ...(phone === null ? {} : { phone }),
              metadata: { ...fullMetadata(id, externalId, metadata), ...markMetadata(mark) },
            },
            options,
          ),
        take: (response, asOf) =>
          mapCreated(response, sinceCreation(response, asOf), id, {
            email,
            name,
            phone,
            metadata: fullMetadata(id, externalId, metadata),
          }),
      }),

    read,

    update: (change) => updateCustomer(context, change),

    delete: (processorCustomerId) =>
      call.write('customers.delete', {
        send: (options) => stripe.customers.del(processorCustomerId, {}, options),
        take: takeDeleted,
        refused: missing,
      }),

    find: async (lookUp) => {
      const found = await searchMarked(
        context,
        {
          listing: 'customers.list',
          list: (filter) => fetchFrom(stripe.customers, filter),
          searching: 'customers.search',
          search: (params, options) => stripe.customers.search(params, options),
        },
        lookUp,
      );
      const customer = found === null ? null : await read(found.id);
      return found === null || customer === 'deleted' ? null : withRequest(found, customer);
    },

    list: ({ since, ...place } = {}) => {
      const fetch = fetchFrom(stripe.customers, since === undefined ? {} : createdSince(since));
      return mapPages(context, 'customers.list', fetch, mapCustomer, place);
    },
  };
}

function updateCustomer(
  { stripe, call }: AdapterContext,
  {
    processorCustomerId,
    email,
    name,
    phone,
    externalId,
    metadata,
    idempotencyKey,
  }: Parameters<CustomerCalls['update']>[0],
): ReturnType<CustomerCalls['update']> {
  return call.write('customers.update', {
    idempotencyKey,
    send: (options) =>
      stripe.customers.update(
        processorCustomerId,
        {
          ...(email === undefined ? {} : { email }),
          ...(name === undefined ? {} : { name: clearable(name) }),
          ...(phone === undefined ? {} : { phone: clearable(phone) }),
          ...changedMetadata({
            ...metadata,
            ...(externalId === undefined ? {} : { [externalIdKey]: externalId }),
          }),
        },
        options,
      ),
    take: (response, asOf) => done(mapUpdated(response, { email, name, phone }, asOf), response),
    refused: missing,
  });
}

/** If the response does not show a value that was sent, the sent value is used. */
function mapCreated(
  response: unknown,
  asOf: AsOf,
  id: string,
  sent: Pick<CustomerValues, 'email' | 'name' | 'phone' | 'metadata'>,
): CustomerFacts {
  const shown: ReadonlyMap<string, unknown> = new Map(Object.entries(Object(response)));
  const { metadata, ...texts } = sent;
  const isShown = (field: string) => typeof shown.get(field) === 'string' && shown.get(field) !== '';
  const unshown = Object.entries(texts).filter(([field]) => !isShown(field));
  const whole = {
    ...Object.fromEntries([...shown, ...unshown]),
    metadata: { ...metadata, ...Object(shown.get('metadata')) },
  };
  return mapCustomer(withKnownLinks(whole, { localId: id }), asOf);
}

/** A deleted customer cannot be updated, so a response that shows one is invalid. Only a read proves a deletion. */
function mapUpdated(
  response: unknown,
  sent: { readonly [field: string]: unknown },
  asOf: AsOf,
): CustomerFacts {
  const facts = mapResponse(withSent(response, sent), asOf);
  if (facts.deleted) throw new UnmappableError('the changed customer is shown as deleted');
  return facts;
}

/** If the response omits a value that was sent, the sent value is used. A value in the response takes precedence. */
function withSent(response: unknown, sent: { readonly [field: string]: unknown }): unknown {
  const given = Object.entries(sent).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), ...Object(response) };
}

function mapResponse(response: unknown, asOf: AsOf): CustomerFacts {
  return mapCustomer(withKnownLinks(response, { localId: null }), asOf);
}

function takeCustomer(response: unknown, asOf: AsOf): CustomerFacts | 'deleted' {
  const customer = WireObject.parse(response, 'customer').expectKind('customer');
  return customer.isDeleted() ? 'deleted' : mapResponse(response, asOf);
}

function takeDeleted(response: unknown, asOf: AsOf): Attempt<'deleted'> {
  if (takeCustomer(response, asOf) !== 'deleted')
    throw new UnmappableError('the deleted customer is not marked as deleted');
  return done('deleted');
}

/** The caller's metadata, and Till's own. */
function fullMetadata(id: string, externalId: string | undefined, metadata: Metadata | undefined): Metadata {
  return {
    ...metadata,
    [localIdKey]: id,
    ...(externalId === undefined ? {} : { [externalIdKey]: externalId }),
  };
}

/** In the wire API, an empty text clears a field. */
function clearable(text: string | null): string {
  return text ?? '';
}
