import { shorten } from '../wire/form.ts';
import { badParam, type WireError } from '../wire/wire-error.ts';

type Operator = ':' | '~' | '<' | '<=' | '>' | '>=';

/** One condition of a query, such as `-status:'canceled'`. */
export interface Clause {
  /** The field's path. For metadata, `metadata` and then the metadata key. */
  readonly field: string;
  readonly metadataKey: string | null;
  readonly operator: Operator;
  /** Null tests whether the field has a value. */
  readonly value: string | null;
  readonly isQuoted: boolean;
  readonly isNegated: boolean;
}

export interface SearchQuery {
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

export function unsupportedField(field: string, resource: string): WireError {
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
