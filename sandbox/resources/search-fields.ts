import { badParam } from '../wire/wire-error.ts';
import { type Clause, type SearchQuery, unsupportedField } from './search-query.ts';

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
