import type { Collection } from '../state/collection.ts';
import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { WireObject } from '../wire/objects.ts';
import { type Call, type Operation, operation } from '../wire/operation.ts';
import type { Fields, Parsed } from '../wire/params.ts';
import { createdParam, listPage, type PageParams, pageParams } from './listing.ts';
import { searchOperation } from './search.ts';

interface ResourceOptions<T> {
  /** The object as callers see it. By default, the object as it is stored. */
  readonly show?: (store: Store, value: T) => object;
  /** Objects created before this time are hidden from callers. */
  readonly shownSince?: (store: Store) => number;
  /** The path below `/v1/`, if it differs from the name. */
  readonly path?: string;
}

interface ListFilters<T, F extends Fields> {
  /** Rejects parameters that must not be combined. Runs before anything else. */
  readonly check?: (store: Store, params: Parsed<F>) => void;
  /** The index keys to look up. The first one that is defined decides which index is read. */
  readonly within?: (params: Parsed<F>) => Readonly<Record<string, string | undefined>>;
  /** Parameters whose value must equal the object's field of the same name. */
  readonly equal?: readonly (keyof F & keyof T)[];
  /** Any other condition. */
  readonly where?: (store: Store, params: Parsed<F>) => (value: T) => boolean;
}

/**
 * One kind of object in the wire API: builds the operations at `/v1/name`. A resource file declares the resource, its
 * list filters and its own operations. Retrieve, list and search are the same for all.
 */
export class Resource<T extends WireObject> {
  readonly #name: string;
  readonly #path: string;
  readonly #collectionOf: (store: Store) => Collection<T>;
  readonly #show: (store: Store, value: T) => object;
  readonly #shownSince: (store: Store) => number;

  constructor(
    name: string,
    collectionOf: (store: Store) => Collection<T>,
    { show = (_, value) => value, shownSince = () => 0, path = name }: ResourceOptions<T> = {},
  ) {
    this.#name = name;
    this.#path = path;
    this.#collectionOf = collectionOf;
    this.#show = show;
    this.#shownSince = shownSince;
  }

  /** The object with the id in the path. Throws the processor's 404 if there is none. */
  existing({ store, id }: Call): T {
    return existing(this.#collectionOf(store), id, 'id', this.#shownSince(store));
  }

  /** One of the resource's own operations. Its route is a method and the path after the resource's name. */
  operation<F extends Fields>(
    verb: string,
    route: `${Operation['method']}${'' | ` ${string}`}`,
    fields: F,
    run: (call: Call, params: Parsed<F>) => object,
    access: { readonly forBrowsers?: true } = {},
  ): Operation {
    const [method, rest] = splitRoute(route);
    const path = rest === undefined ? this.#path : `${this.#path}/${rest}`;
    return operation({ name: `${this.#name}.${verb}`, method, path, ...access }, fields, run);
  }

  retrieve(): Operation {
    return this.operation('retrieve', 'GET *', {}, (call) => this.#show(call.store, this.existing(call)));
  }

  /** Deletes the object, and returns what is left of it. */
  delete(remove: (store: Store, value: T) => void): Operation {
    return this.operation('delete', 'DELETE *', {}, (call) => {
      const value = this.existing(call);
      remove(call.store, value);
      return { id: value.id, object: value.object, deleted: true };
    });
  }

  /** Lists the newest objects first. */
  list<F extends Fields>(params: F, filters: ListFilters<T, F> = {}): Operation {
    return this.#list({ ...pageParams, ...createdParam, ...params }, filters);
  }

  /** The same for the few lists that cannot be filtered by creation time. */
  listWithoutCreated<F extends Fields>(params: F, filters: ListFilters<T, F> = {}): Operation {
    return this.#list({ ...pageParams, ...params }, filters);
  }

  search(): Operation {
    return searchOperation(this.#name, this.#collectionOf);
  }

  #list<F extends Fields>(fields: Fields, filters: ListFilters<T, F>): Operation {
    return this.operation('list', 'GET', fields, ({ store }, parsed) => {
      // `fields` contains the page parameters and the list's own parameters, so parsing has produced both.
      const params = parsed as PageParams & Parsed<F>;
      filters.check?.(store, params);
      const where = filters.where?.(store, params);
      const list = listPage(`/v1/${this.#path}`, this.#collectionOf(store), params, {
        createdSince: this.#shownSince(store),
        within: filters.within?.(params),
        where: (value) =>
          (filters.equal ?? []).every((name) => params[name] === undefined || params[name] === value[name]) &&
          (where?.(value) ?? true),
      });
      return { ...list, data: list.data.map((value) => this.#show(store, value)) };
    });
  }
}

function splitRoute(route: string): [Operation['method'], string | undefined] {
  const [method, rest] = route.split(' ');
  // The parameter's type allows no other method.
  return [method as Operation['method'], rest];
}
