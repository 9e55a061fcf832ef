import type { Collection } from '../state/collection.ts';
import type { Store } from '../state/store.ts';
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

type Access = Partial<Pick<Operation, 'forBrowsers'>>;

/** What a list needs beyond parameters that are index keys or fields of its objects. */
interface ListOptions<T, F extends Fields> {
  /** Parameters that only the functions below handle. */
  readonly handled?: readonly (keyof F)[];
  /** Rejects parameters that must not be combined. Runs before anything else. */
  readonly check?: (store: Store, params: Parsed<F>) => void;
  /** Further index keys. */
  readonly within?: (params: Parsed<F>) => Readonly<Record<string, string | undefined>>;
  /** False for the few lists that cannot be filtered by creation time. */
  readonly hasCreated?: false;
  /** Any other condition. */
  readonly where?: (value: T, params: Parsed<F>, store: Store) => boolean;
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
    return this.#collectionOf(store).existing(id, 'id', this.#shownSince(store));
  }

  /** One of the resource's own operations. Its route is a method and the path after the resource's name. */
  operation<F extends Fields>(
    verb: string,
    route: `${Operation['method']}${'' | ` ${string}`}`,
    fields: F,
    run: (call: Call, params: Parsed<F>) => object,
    access: Access = {},
  ): Operation {
    const [method, rest] = splitRoute(route);
    const path = rest === undefined ? this.#path : `${this.#path}/${rest}`;
    return operation({ name: `${this.#name}.${verb}`, method, path, ...access }, fields, run);
  }

  create<F extends Fields>(
    fields: F,
    run: (call: Call, params: Parsed<F>) => object,
    access: Access = {},
  ): Operation {
    return this.operation('create', 'POST', fields, run, access);
  }

  /** Changes the object with the id in the path. */
  update<F extends Fields>(fields: F, run: (call: Call, before: T, params: Parsed<F>) => T): Operation {
    return this.operation('update', 'POST *', fields, (call, params) =>
      this.#show(call.store, run(call, this.existing(call), params)),
    );
  }

  /** Something else that happens to the object, such as a cancellation. Its path ends with the verb. */
  action<F extends Fields>(
    verb: string,
    fields: F,
    run: (call: Call, before: T, params: Parsed<F>) => T,
  ): Operation {
    return this.operation(verb, `POST */${verb}`, fields, (call, params) =>
      this.#show(call.store, run(call, this.existing(call), params)),
    );
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

  /**
   * Lists the newest objects first. A parameter with the name of an index is read from that index. Any other must equal
   * the object's field of the same name.
   */
  list<F extends Fields>(filters: F, options: ListOptions<T, F> = {}): Operation {
    const { handled = [], check, within, where, hasCreated = true } = options;
    const fields = { ...pageParams, ...(hasCreated && createdParam), ...filters };
    return this.operation('list', 'GET', fields, ({ store }, parsed) => {
      // `fields` contains the page parameters and the list's own parameters, so parsing has produced both.
      const params = parsed as PageParams & Parsed<F>;
      check?.(store, params);
      const collection = this.#collectionOf(store);
      const given = Object.entries(parsed).filter(
        ([name]) => Object.hasOwn(filters, name) && !handled.includes(name),
      );
      const keys = given.filter(([name]) => collection.hasIndex(name));
      const equal = given.filter(([name]) => !collection.hasIndex(name));
      const list = listPage(`/v1/${this.#path}`, collection, params, {
        createdSince: this.#shownSince(store),
        within: {
          ...within?.(params),
          ...Object.fromEntries(keys.map(([name, key]) => [name, String(key)])),
        },
        where: (value) =>
          equal.every(([name, wanted]) => Reflect.get(value, name) === wanted) &&
          (where?.(value, params, store) ?? true),
      });
      return { ...list, data: list.data.map((value) => this.#show(store, value)) };
    });
  }
  search(): Operation {
    return searchOperation(this.#name, this.#collectionOf);
  }
}

function splitRoute(route: string): [Operation['method'], string | undefined] {
  const [method, rest] = route.split(' ');
  // The parameter's type allows no other method.
  return [method as Operation['method'], rest];
}
