import type { Collection } from '../state/collection.ts';
import { metadataKey } from '../state/collections.ts';
import type { Store } from '../state/store.ts';
import type { WireObject } from '../wire/objects.ts';
import { type Operation, operation } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { pageSize, pageSizeDefault } from './listing.ts';
import { matcherOf } from './search-fields.ts';
import { parseSearchQuery, type SearchQuery } from './search-query.ts';

/**
 * Search with the processor's query language. The processor's search lags behind by up to a minute. The sandbox's
 * search is up to date, unless the control API sets a lag.
 */
export function searchOperation<T extends WireObject>(
  resource: string,
  collectionOf: (store: Store) => Collection<T>,
): Operation {
  return operation(
    { name: `${resource}.search`, method: 'GET', path: `${resource}/search` },
    { query: p.required(p.text()), limit: pageSize, page: p.text() },
    ({ store }, params) => {
      const query = parseSearchQuery(params.query);
      const matches = matcherOf(resource, query);
      const collection = collectionOf(store);
      if (params.page !== undefined && collection.get(params.page) === undefined)
        throw badParam(`Invalid page: ${params.page}`, 'page');
      const versionOf = (value: T) => store.searchLag.versionOf(value, store.now());
      const { data, hasMore } = collection.list({
        // The index has the current values. A lagging search may have to find older ones.
        within: store.searchLag.isUpToDate(store.now()) ? { metadata: indexKeyOf(query) } : undefined,
        limit: params.limit ?? pageSizeDefault,
        startingAfter: params.page,
        where: (value) => {
          const version = versionOf(value);
          return version !== undefined && !isDeleted(version) && matches(version);
        },
      });
      return {
        object: 'search_result',
        data: data.map(versionOf),
        has_more: hasMore,
        next_page: hasMore ? (data.at(-1)?.id ?? null) : null,
        url: `/v1/${resource}/search`,
      };
    },
  );
}

/** The entry of the metadata index that all matches share, if the query requires one. */
function indexKeyOf({ clauses, match }: SearchQuery): string | undefined {
  if (match === 'any' && clauses.length > 1) return undefined;
  const clause = clauses.find(
    ({ metadataKey: key, operator, value, isNegated }) =>
      key !== null && operator === ':' && value !== null && !isNegated,
  );
  return clause?.metadataKey == null || clause.value === null
    ? undefined
    : metadataKey(clause.metadataKey, clause.value);
}

function isDeleted(value: object): boolean {
  return 'deleted' in value && value.deleted === true;
}
