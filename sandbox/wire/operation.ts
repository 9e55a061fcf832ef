import type { Store } from '../state/store.ts';
import { shapeOf } from '../versions/older-objects.ts';
import { expand } from './expand.ts';
import type { FormMap } from './form.ts';
import { array, type Fields, type Parsed, parseFields, text } from './params.ts';

/** One request, as an operation sees it. */
export interface Call {
  readonly store: Store;
  /** The id in the path. Empty if the path has none. */
  readonly id: string;
  /** The second id in the path, of an object that belongs to the first. */
  readonly childId?: string;
  /** Sent with a publishable API key, which gives access only to the object whose client secret the caller has. */
  readonly fromBrowser: boolean;
  readonly accountId: string;
  /** The API version that the request names, if any. */
  readonly version: string | null;
}

export interface Operation {
  /** `resource.verb`. Faults name the operation they apply to. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path below `/v1/`, with `*` for an id. */
  readonly path: string;
  /** May be called with a publishable API key. */
  readonly forBrowsers: boolean;
  readonly run: (call: Call, form: FormMap) => object;
}

/** The processor's own limit. */
const expansionsMax = 20;
const expandParam = array(text(), expansionsMax);

export function operation<F extends Fields>(
  route: Pick<Operation, 'name' | 'method' | 'path'> & Partial<Pick<Operation, 'forBrowsers'>>,
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
      const shape = shapeOf(call.store, call.version);
      // A shape returns an object for an object.
      const shaped = shape === undefined ? result : (shape(result) as object);
      return paths.length === 0 ? shaped : expand(call.store, shaped, paths, shape);
    },
  };
}
