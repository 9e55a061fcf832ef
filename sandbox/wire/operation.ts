import type { Page } from '../state/collection.ts';
import type { Store } from '../state/store.ts';
import { expand } from './expand.ts';
import type { FormMap } from './form.ts';
import type { List } from './objects.ts';
import { array, type Fields, integer, type Parsed, parseFields, range, text } from './params.ts';
import { badParam } from './wire-error.ts';

/** One request, as an operation sees it. */
export interface Call {
  readonly store: Store;
  /** The ids in the path, in order. */
  readonly ids: readonly string[];
  /** Made with a publishable key: only what the client secret opens may be touched. */
  readonly fromBrowser: boolean;
  /** Where the sandbox itself can be reached, for links to its own pages. */
  readonly baseUrl: string;
  readonly accountId: string;
}

export interface Operation {
  /** `resource.verb`, which is also the name that faults are aimed at. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path below `/v1/`, with `*` for an id. */
  readonly path: string;
  /** May be called with a publishable key. */
  readonly forBrowsers: boolean;
  readonly run: (call: Call, form: FormMap) => object;
}

/** The processor allows this many expansions in one request. */
const expansionsMax = 20;
const expandParam = array(text(), expansionsMax);

export function operation<F extends Fields>(
  route: Pick<Operation, 'name' | 'method' | 'path'> & { readonly forBrowsers?: true },
  fields: F,
  run: (call: Call, params: Parsed<F>) => object,
): Operation {
  return {
    forBrowsers: false,
    ...route,
    run: (call, form) => {
      const expansions = form.get('expand');
      form.delete('expand');
      const paths = expansions === undefined ? [] : expandParam(expansions, 'expand');
      const result = run(call, parseFields(fields, form));
      return paths.length === 0 ? result : expand(call.store, result, paths);
    },
  };
}

/** The parameters that every list takes. */
export const listParams = {
  limit: integer(1, 100),
  starting_after: text(),
  ending_before: text(),
};
export const createdParam = { created: range };

interface Cursor {
  readonly limit: number | undefined;
  readonly starting_after: string | undefined;
  readonly ending_before: string | undefined;
}

/** The wire API's page size when none is asked for. */
const limitDefault = 10;

/** The cursor as collections want it; a cursor that names nothing is an error, never an empty page. */
export function cursorOf(params: Cursor, exists: (id: string) => boolean) {
  if (params.starting_after !== undefined && params.ending_before !== undefined)
    throw badParam(
      'Only one of starting_after and ending_before may be given.',
      'starting_after',
      'parameters_exclusive',
    );
  for (const param of ['starting_after', 'ending_before'] as const) {
    const id = params[param];
    if (id !== undefined && !exists(id)) throw badParam(`No such object: '${id}'`, param, 'resource_missing');
  }
  return {
    limit: params.limit ?? limitDefault,
    startingAfter: params.starting_after,
    endingBefore: params.ending_before,
  };
}

export function listOf<T>(url: string, page: Page<T>): List<T> {
  return { object: 'list', data: page.data, has_more: page.hasMore, url };
}
