import { badParam } from '../wire/wire-error.ts';
import { type Clause, type SearchQuery, unsupportedField } from './search-query.ts';

/**
 * How a field is compared. A token must be equal, ignoring case. A string can also contain the value. A number can also
 * be greater or less.
 */
type FieldType = 'token' | 'string' | 'number';

/** The processor's searchable fields that the sandbox has. Every resource also has `metadata`. */
const fieldsOf: Readonly<Record<string, Readonly<Record<string, FieldType>>>> = {
  charges: {
    amount: 'number',
    'billing_details.address.postal_code': 'token',
    created: 'number',
    currency: 'token',
    customer: 'token',
    disputed: 'token',
    'payment_method_details.card.brand': 'token',
    'payment_method_details.card.exp_month': 'token',
    'payment_method_details.card.exp_year': 'token',
    'payment_method_details.card.fingerprint': 'token',
    'payment_method_details.card.last4': 'token',
    refunded: 'token',
    status: 'token',
  },
  customers: { created: 'number', email: 'string', name: 'string', phone: 'string' },
  invoices: {
    created: 'number',
    currency: 'token',
    customer: 'token',
    number: 'string',
    receipt_number: 'string',
    status: 'string',
    subscription: 'token',
    total: 'number',
  },
  payment_intents: {
    amount: 'number',
    created: 'number',
    currency: 'token',
    customer: 'token',
    status: 'token',
  },
  prices: {
    active: 'token',
    currency: 'token',
    lookup_key: 'string',
    product: 'string',
    type: 'token',
  },
  products: {
    active: 'token',
    description: 'string',
    name: 'string',
    shippable: 'token',
    url: 'string',
  },
  subscriptions: { canceled_at: 'number', created: 'number', status: 'string' },
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
  const type: FieldType | undefined =
    clause.metadataKey === null ? ownField(fieldsOf[resource] ?? {}, clause.field) : 'token';
  if (type === undefined) throw unsupportedField(clause.field, resource);
  const path =
    clause.metadataKey === null
      ? (paths[`${resource}.${clause.field}`] ?? clause.field).split('.')
      : ['metadata', clause.metadataKey];
  const holds = comparison(type, clause);
  return (value) => holds(valueAt(value, path)) !== clause.isNegated;
}

function ownField(fields: Readonly<Record<string, FieldType>>, name: string): FieldType | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
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
  return (found: unknown): boolean => {
    if (typeof found !== 'number') return false;
    switch (operator) {
      case '<':
        return found < wanted;
      case '<=':
        return found <= wanted;
      case '>':
        return found > wanted;
      case '>=':
        return found >= wanted;
      default:
        return found === wanted;
    }
  };
}

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
