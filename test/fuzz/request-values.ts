import fc from 'fast-check';
import type { Documented, Schema } from '../support/openapi-document.ts';
import { hostile } from './hostile-request.ts';
import {
  bodyHeaders,
  type Draft,
  type FuzzRequest,
  fieldsOf,
  type Pair,
  queryOf,
  requiredQueryOf,
  rightPairs,
  rightPath,
  schemaOf,
  toJson,
  withOwnPaymentMethod,
} from './operation-parts.ts';
import { wrongValues } from './wrong-values.ts';

/** Requests to one operation, generated from its part of the document, by their kind. */
export function requestsTo(
  operation: Documented,
): ReadonlyMap<FuzzRequest['kind'], fc.Arbitrary<FuzzRequest>> {
  const as = (kind: FuzzRequest['kind'], drafts: fc.Arbitrary<Draft>) =>
    [kind, drafts.map((draft) => ({ ...draft, kind, operation }))] as const;
  const nearly = nearlyValid(operation);
  return new Map([
    as('valid', valid(operation)),
    ...(nearly === null ? [] : [as('nearly', nearly)]),
    as('hostile', hostile(operation)),
  ]);
}

function valid(operation: Documented): fc.Arbitrary<Draft> {
  const { requestBody } = operation;
  const json = rightPairs(fieldsOf(operation), schemaOf(operation)?.required ?? [])
    .map(withoutConflicts)
    .map((pairs) => ofOneKind(operation, pairs))
    .map(toJson);
  const body = requestBody?.required ? json : fc.option(json, { nil: null });
  return fc
    .record({
      path: rightPath(operation),
      query: rightPairs(guessable(queryOf(operation)), requiredQueryOf(operation)).map(toQuery),
      body: requestBody === undefined ? fc.constant(null) : body,
    })
    .map(({ path, query, body: sent }) =>
      draft(operation, path, query, withOwnPaymentMethod(path.text, sent)),
    );
}

/**
 * An off-session charge needs a payment method and cannot save it, no billing period is longer than three years, an
 * add-on is in no group, and amounts of a currency with three decimals end in 0. The schema of a single field cannot
 * say so.
 */
function withoutConflicts(pairs: readonly Pair[]): readonly Pair[] {
  const names = pairs.map(([name]) => name);
  const fits = names.includes('paymentMethodId') && !names.includes('savePaymentMethod');
  const isAddOn = pairs.some(([name, json]) => name === 'addOn' && json === 'true');
  const fitting = fits ? pairs : without(pairs, 'offSession');
  return withRoundAmount(withoutLongPeriod(isAddOn ? without(fitting, 'group') : fitting));
}

const threeDecimals = /^"(bhd|jod|kwd|omr|tnd)"$/i;

function withRoundAmount(pairs: readonly Pair[]): readonly Pair[] {
  const isRounded = pairs.some(([name, json]) => name === 'currency' && threeDecimals.test(json));
  return isRounded
    ? pairs.map(([name, json]) => [
        name,
        name === 'amount' ? `${Math.max(1, Math.floor(Number(json) / 10))}0` : json,
      ])
    : pairs;
}

function withoutLongPeriod(pairs: readonly Pair[]): readonly Pair[] {
  const isLong = pairs.some(([name, json]) => name === 'interval' && ['"month"', '"year"'].includes(json));
  return isLong ? without(pairs, 'intervalCount') : pairs;
}

const ofTerms = ['planId', 'quantity', 'addOns', 'when', 'proration', 'prorationDate'];

/** The fields that a change of a subscription can have together, by the field that decides its kind. */
const kindsOfChange: readonly (readonly [string, readonly string[]])[] = [
  ['planId', ofTerms],
  ['quantity', ofTerms],
  ['addOns', ofTerms],
  ['cancelAtPeriodEnd', ['cancelAtPeriodEnd', 'metadata']],
  ['paymentMethodId', ['paymentMethodId', 'metadata']],
  ['metadata', ['metadata']],
];

const ofSale = ['quantity', 'addOns', 'trialPeriodDays', 'trialOnce', 'trialEndWithoutCard', 'promotionCode'];
/** What a checkout can sell: the first one that is there stays. */
const sales = ['planId', 'payment', 'saveCard'];

/**
 * A checkout has one buyer and sells one thing, and the time at which it expires must be near. A customer that is
 * created for it stays even if the checkout is refused, so here the buyer is one that exists.
 */
function ofOneSale(pairs: readonly Pair[]): readonly Pair[] {
  const names = pairs.map(([name]) => name);
  const sale = sales.find((name) => names.includes(name));
  const dropped = new Set([
    ...['customer', ...sales].filter((name) => name !== sale),
    ...(sale === 'planId' ? [] : [...ofSale, 'allowPromotionCodes']),
    ...(names.includes('promotionCode') ? ['allowPromotionCodes'] : []),
    'expiresAt',
  ]);
  return [
    ...pairs.filter(([name]) => !dropped.has(name)),
    ...(!names.includes('customerId') ? [['customerId', '"<customers:1>"'] as const] : []),
    ...(sale === undefined ? [['saveCard', 'true'] as const] : []),
  ];
}

/** A change of a subscription is of one kind, and one at the end of the period has no date. */
function ofOneKind(
  { method, path }: Pick<Documented, 'method' | 'path'>,
  pairs: readonly Pair[],
): readonly Pair[] {
  if (method === 'POST' && path === '/api/v1/checkouts') return ofOneSale(pairs);
  if (path === '/api/v1/usage/consume')
    return [...without(without(pairs, 'externalId'), 'customerId'), ['customerId', '"<customers:1>"']];
  const isChange = method === 'PATCH' && path === '/api/v1/subscriptions/{id}';
  if (!isChange && path !== '/api/v1/subscriptions/{id}/preview') return pairs;
  const [, kept] = kindsOfChange.find(([decides]) => pairs.some(([name]) => name === decides)) ?? [];
  if (kept === undefined) return [['quantity', '2']];
  const fitting = pairs.filter(([name]) => kept.includes(name) || name === 'idempotencyKey');
  const isPlanned = fitting.some(([name, json]) => name === 'when' && json === '"periodEnd"');
  return isPlanned ? without(fitting, 'prorationDate') : fitting;
}

/** One field, parameter or requirement at a time; null where an operation has nothing to break but its path. */
function nearlyValid(operation: Documented): fc.Arbitrary<Draft> | null {
  const fields = fieldsOf(operation);
  const required = schemaOf(operation)?.required ?? [];
  const base = rightPairs(fields, required);
  const breaches: fc.Arbitrary<(pairs: readonly Pair[]) => readonly Pair[]>[] = [
    fc.constant((pairs) => [...pairs, ['idempotencykey', '"k"']]),
    ...required.map((name) => fc.constant((pairs: readonly Pair[]) => without(pairs, name))),
    ...Object.entries(fields).map(([name, schema]) =>
      fc
        .constantFrom(...wrongValues(schema))
        .map((wrong) => (pairs: readonly Pair[]) => [
          ...without(pairs, name),
          [name, JSON.stringify(wrong)] as const,
        ]),
    ),
  ];
  const inBody = fc
    .record({ path: rightPath(operation), pairs: base, breach: fc.oneof(...breaches) })
    .map(({ path, pairs, breach }) => draft(operation, path, '', toJson(breach(pairs))));
  const parameters = Object.entries(queryOf(operation)).filter(([, { type }]) => type !== 'string');
  const wrongQueries = fc.oneof(
    fc.constant('?pgae=1'),
    ...parameters.map(([name, schema]) =>
      fc
        // In a query everything is text: what is only the wrong type in JSON may be right here.
        .constantFrom('', 'x', '1.5', '0', '-1', '1e99', '%00', '[]', '1&'.concat(name, '=1'))
        .filter((text) => schema.enum === undefined || !schema.enum.includes(text))
        .filter((text) => text !== '0' || (schema.minimum ?? 0) > 0)
        .map((text) => `?${name}=${text}`),
    ),
  );
  const inQuery = fc
    .record({ path: rightPath(operation), query: wrongQueries })
    .map(({ path, query }) => draft(operation, path, query, operation.requestBody?.required ? '{}' : null));
  if (!operation.isApi) return null;
  return operation.method === 'GET'
    ? inQuery
    : fc.oneof({ weight: 4, arbitrary: inBody }, { weight: 1, arbitrary: inQuery });
}

function draft(
  operation: Documented,
  path: { readonly text: string; readonly isRouted: boolean },
  query: string,
  body: string | null,
): Draft {
  return {
    method: operation.method,
    path: path.text + query,
    isRouted: path.isRouted,
    headers: body === null ? [] : bodyHeaders,
    body,
    isChunked: false,
  };
}

/** Only the service creates cursors. */
function guessable({
  cursor: _,
  ...others
}: Readonly<Record<string, Schema>>): Readonly<Record<string, Schema>> {
  return others;
}

function without(pairs: readonly Pair[], name: string): readonly Pair[] {
  return pairs.filter(([own]) => own !== name);
}

/** A placeholder of an id stays as it is, so that it is found when the request is sent. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/^%3C([\w-]+)%3A(\d+)%3E$/, '<$1:$2>');
}

function toQuery(pairs: readonly Pair[]): string {
  const texts = pairs.map(([name, json]) => `${name}=${encode(String(JSON.parse(json)).toWellFormed())}`);
  return texts.length === 0 ? '' : `?${texts.join('&')}`;
}
