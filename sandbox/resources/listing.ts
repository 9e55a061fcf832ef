import type { Collection, ListQuery } from '../state/collection.ts';
import type { List, WireObject } from '../wire/objects.ts';
import { integer, type Range, range, text } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';

/** The processor's own page size limits. */
export const pageSize = integer(1, 100);
export const pageSizeDefault = 10;

/** Every list takes these parameters. */
export const pageParams = { limit: pageSize, starting_after: text(), ending_before: text() };
export const createdParam = { created: range };

export interface PageParams {
  readonly limit: number | undefined;
  readonly starting_after: string | undefined;
  readonly ending_before: string | undefined;
  readonly created?: Range | undefined;
}

/** One page of a collection, in the shape of the wire API. */
export function listPage<T extends WireObject>(
  url: string,
  collection: Collection<T>,
  params: PageParams,
  filter: Pick<ListQuery<T>, 'within' | 'where' | 'createdSince'>,
): List<T> {
  if (params.starting_after !== undefined && params.ending_before !== undefined)
    throw badParam(
      'Only one of starting_after and ending_before may be given.',
      'starting_after',
      'parameters_exclusive',
    );
  // An unknown cursor is an error: an empty page would look like the end of the list.
  for (const param of ['starting_after', 'ending_before'] as const) {
    const id = params[param];
    if (id !== undefined && collection.get(id) === undefined)
      throw badParam(`No such object: '${id}'`, param, 'resource_missing');
  }
  const { data, hasMore } = collection.list({
    ...filter,
    created: params.created,
    limit: params.limit ?? pageSizeDefault,
    startingAfter: params.starting_after,
    endingBefore: params.ending_before,
  });
  return { object: 'list', data, has_more: hasMore, url };
}
