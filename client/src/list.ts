/** One page of a list. */
export interface Page<Item> {
  readonly data: readonly Item[];
}

/** How a list is read. A query is opaque here: the list only passes it on. */
export interface ListSource<Item, P extends Page<Item>, Query> {
  readonly query: Query;
  read(query: Query): Promise<P>;
  /** The query of the page after this one. Undefined after the last. */
  next(page: P, query: Query): Query | undefined;
  /** The query of a walk over all pages. It may ask for larger pages. */
  walk(query: Query): Query;
}

/**
 * A list. Nothing is requested until it is used: `for await` reads every item, page after page; `page()` reads one
 * page; `pages()` reads all pages.
 */
export class TillList<Item, P extends Page<Item>> implements AsyncIterable<Item> {
  readonly #first: () => Promise<P>;
  readonly #walk: () => AsyncGenerator<P, void>;

  private constructor(first: () => Promise<P>, walk: () => AsyncGenerator<P, void>) {
    this.#first = first;
    this.#walk = walk;
  }

  static of<Item, P extends Page<Item>, Query>(source: ListSource<Item, P, Query>): TillList<Item, P> {
    return new TillList<Item, P>(
      () => source.read(source.query),
      () => walk(source),
    );
  }

  /** The page that the query names; the first one, if it names none. */
  page(): Promise<P> {
    return this.#first();
  }

  /** That page and all pages after it. */
  pages(): AsyncGenerator<P, void> {
    return this.#walk();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for await (const { data } of this.pages()) yield* data;
  }
}

async function* walk<Item, P extends Page<Item>, Query>(
  source: ListSource<Item, P, Query>,
): AsyncGenerator<P, void> {
  let query: Query | undefined = source.walk(source.query);
  while (query !== undefined) {
    const page: P = await source.read(query);
    yield page;
    query = source.next(page, query);
  }
}
