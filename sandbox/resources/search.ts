import type { Collection } from '../state/collection.ts';
import { metadataKey } from '../state/collections.ts';
import type { Store } from '../state/store.ts';
import type { WireObject } from '../wire/objects.ts';
import { type Operation, operation } from '../wire/operation.ts';
import { integer, required, text } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';

/**
 * Search by metadata equality, `metadata['key']:'value'`, which is the part of the query language that finds an object
 * by the id it was given elsewhere. The processor's search lags behind by up to a minute; this one does not.
 */
export function searchOperation<T extends WireObject>(
  resource: string,
  collectionOf: (store: Store) => Collection<T>,
): Operation {
  return operation(
    {
      name: `${resource}.search`,
      method: 'GET',
      path: `${resource}/search`,
    },
    { query: required(text()), limit: integer(1, 100), page: text() },
    ({ store }, params) => {
      const key = parseQuery(params.query);
      const collection = collectionOf(store);
      if (params.page !== undefined && collection.get(params.page) === undefined)
        throw badParam(`Invalid page: ${params.page}`, 'page');
      const { data, hasMore } = collection.list({
        within: { index: 'metadata', key },
        limit: params.limit ?? limitDefault,
        startingAfter: params.page,
      });
      return {
        object: 'search_result',
        data,
        has_more: hasMore,
        next_page: hasMore ? (data.at(-1)?.id ?? null) : null,
        url: `/v1/${resource}/search`,
      };
    },
  );
}

const limitDefault = 10;

function parseQuery(query: string): string {
  const [, , key, , value] = /^\s*metadata\[(["'])(.+?)\1\]\s*:\s*(["'])(.*)\3\s*$/.exec(query) ?? [];
  if (key === undefined || value === undefined)
    throw badParam("The sandbox understands one kind of query: metadata['key']:'value'.", 'query');
  return metadataKey(key, value.replaceAll(/\\(.)/g, '$1'));
}
