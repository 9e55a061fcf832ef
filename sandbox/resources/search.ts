import type { Collection } from '../state/collection.ts';
import { metadataKey } from '../state/collections.ts';
import type { Store } from '../state/store.ts';
import { shorten } from '../wire/form.ts';
import type { WireObject } from '../wire/objects.ts';
import { type Operation, operation } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, type WireError } from '../wire/wire-error.ts';
import { pageSize, pageSizeDefault } from './listing.ts';

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

type Operator = ':' | '~' | '<' | '<=' | '>' | '>=';

/** One condition of a query, such as `-status:'canceled'`. */
interface Clause {
  /** The field's path. For metadata, `metadata` and then the metadata key. */
  readonly field: string;
  readonly metadataKey: string | null;
  readonly operator: Operator;
  /** Null tests whether the field has a value. */
  readonly value: string | null;
  readonly isQuoted: boolean;
  readonly isNegated: boolean;
}

interface SearchQuery {
  readonly clauses: readonly Clause[];
  /** Whether an object must match all clauses or any of them. */
  readonly match: 'all' | 'any';
}

/** The processor's own limit. */
const clausesMax = 10;

const quoted = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;
const clausePattern = new RegExp(
  String.raw`(?<minus>-?)(?<field>metadata\[(?<key>${quoted})\]|[a-z_0-9]+(?:\.[a-z_0-9]+)*)\s*(?<operator>:|~|<=|<|>=|>)\s*(?<value>${quoted}|-?\d+(?:\.\d+)?(?![\w.])|null(?!\w))`,
  'iy',
);
const separatorPattern = /\s+(?:(and|or)\s+)?/iy;

/**
 * Parses the processor's query language: up to ten clauses, joined by AND (or a space) or by OR, but not by both. There
 * are no parentheses. A malformed query is an error: an empty result would look like a valid response.
 */
export function parseSearchQuery(query: string): SearchQuery {
  const source = query.trim();
  const clauses: Clause[] = [];
  const joins = new Set<'and' | 'or'>();
  for (let at = 0; at < source.length; ) {
    if (clauses.length > 0) {
      const separator = matchAt(separatorPattern, source, at);
      if (separator === null) throw unparseable();
      joins.add(separator[1]?.toLowerCase() === 'or' ? 'or' : 'and');
      at += separator[0].length;
    }
    const found = matchAt(clausePattern, source, at);
    if (found === null) throw unparseable();
    clauses.push(clauseOf(found.groups ?? {}));
    at += found[0].length;
  }
  if (clauses.length === 0) throw unparseable();
  if (clauses.length > clausesMax)
    throw badParam(`A search query can have at most ${clausesMax} clauses.`, 'query');
  if (joins.size > 1)
    throw badParam('A search query can use AND or OR, but not both. This query uses both.', 'query');
  return { clauses, match: joins.has('or') ? 'any' : 'all' };
}

function unsupportedField(field: string, resource: string): WireError {
  return badParam(
    `Field \`${shorten(field)}\` is an unsupported search field for resource \`${resource}\`. See http://stripe.com/docs/search#query-fields-for-${resource.replaceAll('_', '-')} for a list of supported fields.`,
    'query',
  );
}

function matchAt(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(source);
}

function clauseOf(groups: Readonly<Record<string, string | undefined>>): Clause {
  const { minus, field = '', key, operator, value = '' } = groups;
  const isQuoted = value.startsWith('"') || value.startsWith("'");
  return {
    field: key === undefined ? field : 'metadata',
    metadataKey: key === undefined ? null : unquote(key),
    // The pattern allows only these operators.
    operator: operator as Operator,
    value: isQuoted ? unquote(value) : value.toLowerCase() === 'null' ? null : value,
    isQuoted,
    isNegated: minus === '-',
  };
}

function unquote(text: string): string {
  return text.slice(1, -1).replaceAll(/\\(.)/g, '$1');
}

function unparseable(): WireError {
  return badParam(
    'We were unable to parse your search query. Try using the format `metadata["key"]:"value"` to query for metadata or key:"value" to query for other fields.',
    'query',
  );
}

/**
 * How a field is compared. A token must be equal, ignoring case. A string can also contain the value. A number can also
 * be greater or less.
 */
const fieldTypes = ['token', 'string', 'number'] as const;
type FieldType = (typeof fieldTypes)[number];

/** The processor's searchable fields that the sandbox has. Every resource also has `metadata`. */
const fieldsOf: Readonly<Record<string, Readonly<Partial<Record<FieldType, string>>>>> = {
  charges: {
    number: 'amount created',
    token: `billing_details.address.postal_code currency customer disputed payment_method_details.card.brand
      payment_method_details.card.exp_month payment_method_details.card.exp_year
      payment_method_details.card.fingerprint payment_method_details.card.last4 refunded status`,
  },
  customers: { number: 'created', string: 'email name phone' },
  invoices: {
    number: 'created total',
    string: 'number receipt_number status',
    token: 'currency customer subscription',
  },
  payment_intents: { number: 'amount created', token: 'currency customer status' },
  prices: { string: 'lookup_key product', token: 'active currency type' },
  products: { string: 'description name url', token: 'active shippable' },
  subscriptions: { number: 'canceled_at created', string: 'status' },
};

/** The path of a field, if it differs from the name. */
const paths: Readonly<Record<string, string>> = {
  'invoices.subscription': 'parent.subscription_details.subscription',
};

/** The processor's own limit for a substring. */
const substringLengthMin = 3;

type Plain = Readonly<Record<string, unknown>>;

/** A condition for the objects of a resource. Throws if the resource does not have a field or an operator. */
export function matcherOf(resource: string, query: SearchQuery): (value: object) => boolean {
  const conditions = query.clauses.map((clause) => conditionOf(resource, clause));
  return query.match === 'any'
    ? (value) => conditions.some((holds) => holds(value))
    : (value) => conditions.every((holds) => holds(value));
}

function conditionOf(resource: string, clause: Clause): (value: object) => boolean {
  const type: FieldType | undefined = clause.metadataKey === null ? typeOf(resource, clause.field) : 'token';
  if (type === undefined) throw unsupportedField(clause.field, resource);
  const path =
    clause.metadataKey === null
      ? (paths[`${resource}.${clause.field}`] ?? clause.field).split('.')
      : ['metadata', clause.metadataKey];
  const holds = comparison(type, clause);
  return (value) => holds(valueAt(value, path)) !== clause.isNegated;
}

function typeOf(resource: string, field: string): FieldType | undefined {
  const fields = fieldsOf[resource] ?? {};
  return fieldTypes.find((type) => fields[type]?.split(/\s+/).includes(field));
}

function comparison(type: FieldType, { field, operator, value, isQuoted }: Clause) {
  const refuse = (why: string) => badParam(`Invalid search query: ${why}`, 'query');
  if (value === null) {
    if (operator !== ':') throw refuse(`null needs the operator \`:\`, not \`${operator}\`.`);
    return (found: unknown) => found === undefined || found === null || found === '';
  }
  if (type === 'number') return numericComparison(field, operator, value);
  if (!isQuoted) throw refuse(`the value of \`${field}\` must be in quotes.`);
  const wanted = value.toLowerCase();
  if (operator === ':') return (found: unknown) => textOf(found) === wanted;
  if (operator !== '~' || type !== 'string')
    throw refuse(`\`${field}\` does not support the operator \`${operator}\`.`);
  if (wanted.length < substringLengthMin)
    throw refuse(`\`~\` needs at least ${substringLengthMin} characters.`);
  return (found: unknown) => textOf(found)?.includes(wanted) ?? false;
}

function numericComparison(field: string, operator: Clause['operator'], value: string) {
  const wanted = Number(value);
  if (value.trim() === '' || !Number.isFinite(wanted) || operator === '~')
    throw badParam(`Invalid search query: \`${field}\` is a number.`, 'query');
  const holds = comparisons[operator];
  return (found: unknown): boolean => typeof found === 'number' && holds(found, wanted);
}

const comparisons = {
  ':': (found: number, wanted: number) => found === wanted,
  '<': (found: number, wanted: number) => found < wanted,
  '<=': (found: number, wanted: number) => found <= wanted,
  '>': (found: number, wanted: number) => found > wanted,
  '>=': (found: number, wanted: number) => found >= wanted,
};

function textOf(found: unknown): string | undefined {
  return found === undefined || found === null || typeof found === 'object'
    ? undefined
    : String(found).toLowerCase();
}

function valueAt(value: object, path: readonly string[]): unknown {
  let found: unknown = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    // It is an object with this field.
    found = (found as Plain)[part];
  }
  return found;
}
