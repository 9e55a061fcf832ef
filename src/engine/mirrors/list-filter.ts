import { Failure } from '#core/errors.ts';
import type { FilterValues } from '#core/model/list-request.ts';
import { isUuid } from '#core/platform/id.ts';
import { instantText, parseInstant } from '#core/platform/instant.ts';

/**
 * A parameter of a list that selects the rows whose column equals its value. It must have an index on the column,
 * `created_at` and `id`.
 */
interface ColumnFilter {
  /** The column, or an expression that is indexed. */
  readonly column: string;
  /** Returns the SQL of the value to compare with, given the SQL of the parameter, such as `$3`. */
  readonly toSql: (parameter: string) => string;
  /** Writes equal values as equal texts. Undefined if no row can have the value. */
  readonly normalise: (value: string) => string | undefined;
}

/**
 * A parameter that selects the rows for which a condition is true. If many requests use it alone, it has a partial
 * index on `created_at` and `id`.
 */
interface ConditionFilter {
  /**
   * Returns the SQL of the condition. `add` adds the value of the request to the statement, and returns the SQL of its
   * parameter.
   */
  readonly toCondition: (add: () => string, value: string) => string;
  readonly normalise: (value: string) => string | undefined;
}

/** A condition on columns that are facets of the list. See `Facets`. */
interface FacetFilter extends ConditionFilter {
  readonly isFacet: true;
  /** The column and the SQL of its value, if the condition is that they are equal. */
  readonly equality?: { readonly column: string; readonly toSql: (parameter: string) => string };
  /** The condition on a row of the list, if it differs. */
  readonly toRowCondition?: (table: string, parameter: string) => string;
}

/** A bound of the amount of the facets. */
interface BoundFilter {
  readonly bound: string;
  readonly operator: '>=' | '<=';
  readonly normalise: (value: string) => string | undefined;
}

/**
 * A parameter whose rows are found once, without an order, and then sorted and counted. It is the only filter of its
 * list, besides times.
 */
export interface RowsFilter {
  /** Returns the SQL of a query for `created_at` and `id` of the rows. */
  readonly toRows: (add: (value: unknown) => string, value: string) => string;
  readonly normalise: (value: string) => string | undefined;
}

export type Filter = ColumnFilter | ConditionFilter | FacetFilter | BoundFilter | RowsFilter;

/** The filters of a list by the names of their parameters, the most selective first. */
export type Filters = Readonly<Record<string, Filter>>;
/** Selects the facets for which the condition is true. The only value is `true`. */
export function byTruth(condition: string): FacetFilter {
  return { isFacet: true, toCondition: () => condition, normalise: (value) => value };
}

/** Selects the facets for which the condition of the value is true. */
export function byChoice(conditions: Readonly<Record<string, string>>): FacetFilter {
  return {
    isFacet: true,
    toCondition: (_, value) => conditions[value] ?? 'false',
    normalise: (value) => (Object.hasOwn(conditions, value) ? value : undefined),
  };
}

/** Selects the rows for which a condition on the value is true. */
export function byCondition(toSql: (parameter: string) => string): ConditionFilter {
  return { toCondition: (add) => toSql(add()), normalise: (value) => value };
}

/** Selects the facets for which a condition on the value is true. */
export function byFacets(toSql: (parameter: string) => string): FacetFilter {
  return { isFacet: true, ...byCondition(toSql) };
}

/** Selects the facets whose column equals the value. */
export function byFacet({ column, toSql, normalise }: ColumnFilter): FacetFilter {
  return {
    isFacet: true,
    equality: { column, toSql },
    toCondition: (add) => `${column} = ${toSql(add())}`,
    normalise,
  };
}

export function byBound(amount: string, operator: BoundFilter['operator']): BoundFilter {
  return { bound: amount, operator, normalise: (value) => value };
}

export function byText(column: string): ColumnFilter {
  return { column, toSql: (parameter) => parameter, normalise: (value) => value };
}

/** Compares texts, ignoring case. */
export function byTextOfAnyCase(column: string): ColumnFilter {
  return {
    column: `lower(${column})`,
    toSql: (parameter) => `lower(${parameter})`,
    normalise: (value) => value.toLowerCase(),
  };
}

/**
 * Compares ids. A malformed id matches no rows: PostgreSQL would reject the comparison. `toSql` is for a column that
 * does not hold the id itself.
 */
export function byId(column: string, toSql: ColumnFilter['toSql'] = (id) => id): ColumnFilter {
  return {
    column,
    toSql: (parameter) => toSql(`${parameter}::uuid`),
    normalise: (value) => (isUuid(value) ? value.toLowerCase() : undefined),
  };
}

/** A filter that a request uses, with its value. */
export interface UsedFilter {
  readonly name: string;
  readonly filter: Filter;
  readonly value: string;
}

/** The rows that a request selects. */
export interface Selection {
  /** In the order of the declaration. */
  readonly used: readonly UsedFilter[];
  /** `createdAfter` is inclusive, `createdBefore` is exclusive. */
  readonly createdAfter: string | undefined;
  readonly createdBefore: string | undefined;
}

/** Reads the values of a request. Undefined if one of them matches no rows. */
export function selectionOf(filters: Filters, values: FilterValues): Selection | undefined {
  const used: UsedFilter[] = [];
  for (const [name, filter] of Object.entries(filters)) {
    const given = values[name];
    if (given === undefined) continue;
    const value = filter.normalise(given);
    if (value === undefined) return undefined;
    used.push({ name, filter, value });
  }
  const { createdAfter, createdBefore } = values;
  return { used, createdAfter: timeOf(createdAfter), createdBefore: timeOf(createdBefore) };
}

function timeOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const instant = parseInstant(text);
  // The schema of the route refuses it first.
  if (instant === undefined) throw new Failure('invalid_request', 'Send times in the format of RFC 3339.');
  return instantText(instant);
}
