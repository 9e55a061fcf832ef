/** The parts of the OpenAPI document that name the filters of lists. */
export interface ListDocument {
  readonly paths: Readonly<
    Record<string, { readonly get?: { readonly parameters?: readonly ListParameter[] } | undefined }>
  >;
}

interface ListParameter {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly enum?: readonly string[] };
}

/** The values to try of each filter that has no fixed values: some that match many rows, few and none. */
export type FilterValues = Readonly<Record<string, readonly string[]>>;

/** Parameters of lists that select no rows. */
const otherParameters: ReadonlySet<string> = new Set(['cursor', 'page', 'limit', 'sort', 'include']);

/**
 * A request for every value of every filter of a list, and for every pair of them. The filters are those of the
 * document, so a new one is measured too; it fails here if it has no values.
 */
export function filterRequests(
  document: ListDocument,
  lists: readonly string[],
  values: FilterValues,
): readonly string[] {
  return lists.flatMap((list) => {
    const parameters = document.paths[`/api/v1${list}`]?.get?.parameters;
    if (parameters === undefined) throw new Error(`there is no list ${list}`);
    const filters = parameters.filter(
      ({ name, in: place }) => place === 'query' && !otherParameters.has(name),
    );
    const choices = filters.map(({ name, schema }) => {
      const tried = values[name] ?? schema.enum;
      if (tried === undefined) throw new Error(`the filter ${name} of ${list} has no values to try`);
      return tried.map((value) => `${name}=${encodeURIComponent(value)}`);
    });
    const pairs = choices.flatMap((some, index) =>
      some.flatMap((one) =>
        choices.slice(index + 1).flatMap((others) => others.map((other) => [one, other])),
      ),
    );
    return [...choices.flat().map((one) => [one]), ...pairs]
      .map(withCurrency)
      .map((query) => `${list}?${query.join('&')}`);
  });
}

/** A range of amounts is refused without a currency. */
function withCurrency(query: readonly string[]): readonly string[] {
  const hasRange = query.some((one) => one.startsWith('amountM'));
  return hasRange && !query.some((one) => one.startsWith('currency=')) ? [...query, 'currency=eur'] : query;
}
