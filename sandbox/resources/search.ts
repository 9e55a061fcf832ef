import type { Collection } from '../state/collection.ts';
import { metadataKey } from '../state/collections.ts';
import type { Store } from '../state/store.ts';
import type { WireObject } from '../wire/objects.ts';
import { type Operation, operation } from '../wire/operation.ts';
import { required, text } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { pageSize, pageSizeDefault } from './listing.ts';

/**
 * Search by metadata: `metadata['key']:'value'`. The sandbox supports only this part of the query language, which
 * finds an object by an id from another system. The processor's search lags by up to a minute; this one does not.
 */
export function searchOperation<T extends WireObject>(
  resource: string,
  collectionOf: (store: Store) => Collection<T>,
): Operation {
  return operation(
    { name: `${resource}.search`, method: 'GET', path: `${resource}/search` },
    { query: required(text()), limit: pageSize, page: text() },
    ({ store }, params) => {
      const metadata = parseQuery(params.query);
      const collection = collectionOf(store);
      if (params.page !== undefined && collection.get(params.page) === undefined)
        throw badParam(`Invalid page: ${params.page}`, 'page');
      const { data, hasMore } = collection.list({
        within: { metadata },
        limit: params.limit ?? pageSizeDefault,
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

function parseQuery(query: string): string {
  const [, , key, , value] = /^\s*metadata\[(["'])(.+?)\1\]\s*:\s*(["'])(.*)\3\s*$/.exec(query) ?? [];
  if (key === undefined || value === undefined)
    throw badParam("The sandbox supports only one kind of query: metadata['key']:'value'.", 'query');
  return metadataKey(key, value.replaceAll(/\\(.)/g, '$1'));
}
