import { existingCustomer } from '../payments/customer.ts';
import type { Collection, ListQuery } from '../state/collection.ts';
import type { Store } from '../state/store.ts';
import type { List, WireObject } from '../wire/objects.ts';
import { type Operation, operation } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, exclusiveParams } from '../wire/wire-error.ts';

/** The processor's own page size limits. */
export const pageSize = p.integer(1, 100);
export const pageSizeDefault = 10;

/** Every list takes these parameters. */
export const pageParams = { limit: pageSize, starting_after: p.text(), ending_before: p.text() };
export const createdParam = { created: p.range };

export interface PageParams {
  readonly limit: number | undefined;
  readonly starting_after: string | undefined;
  readonly ending_before: string | undefined;
  readonly created?: p.Range | undefined;
}

/** One page of a collection, in the shape of the wire API. */
export function listPage<T extends WireObject>(
  url: string,
  collection: Collection<T>,
  params: PageParams,
  filter: Pick<ListQuery<T>, 'within' | 'where' | 'createdSince'>,
): List<T> {
  checkCursors(params, (id) => collection.get(id) !== undefined);
  const { data, hasMore } = collection.list({
    ...filter,
    created: params.created,
    limit: params.limit ?? pageSizeDefault,
    startingAfter: params.starting_after,
    endingBefore: params.ending_before,
  });
  return { object: 'list', data, has_more: hasMore, url };
}

/** The list of a customer's objects of one kind, below the path of the customer. */
export function customerList<T extends WireObject>(
  name: string,
  collectionOf: (store: Store) => Collection<T>,
  filters: p.Fields = {},
  where: (value: T) => boolean = () => true,
): Operation {
  const route = { name: `customers.list_${name}`, method: 'GET', path: `customers/*/${name}` } as const;
  return operation(route, { ...pageParams, ...filters }, ({ store, id: customer }, params) => {
    existingCustomer(store, customer, 'id');
    const url = `/v1/customers/${customer}/${name}`;
    // The fields contain the page parameters.
    return listPage(url, collectionOf(store), params as PageParams, { within: { customer }, where });
  });
}

/** One page of objects that belong to another object, in their own order. */
export function pageOf<T extends { readonly id: string }>(
  all: readonly T[],
  params: PageParams,
): Pick<List<T>, 'data' | 'has_more'> {
  checkCursors(params, (cursor) => all.some(({ id }) => id === cursor));
  const limit = params.limit ?? pageSizeDefault;
  const before = all.findIndex(({ id }) => id === params.ending_before);
  if (before >= 0) return { data: all.slice(Math.max(0, before - limit), before), has_more: before > limit };
  const start = all.findIndex(({ id }) => id === params.starting_after) + 1;
  return { data: all.slice(start, start + limit), has_more: start + limit < all.length };
}

/** An unknown cursor is an error: an empty page would look like the end of the list. */
function checkCursors(params: PageParams, exists: (id: string) => boolean): void {
  if (params.starting_after !== undefined && params.ending_before !== undefined)
    throw exclusiveParams('starting_after', 'ending_before');
  for (const param of ['starting_after', 'ending_before'] as const) {
    const id = params[param];
    if (id !== undefined && !exists(id)) throw badParam(`No such object: '${id}'`, param, 'resource_missing');
  }
}
