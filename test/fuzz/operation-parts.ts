import fc from 'fast-check';
import { eventNames } from '#features/features.ts';
import type { Documented, Schema } from '../support/openapi-document.ts';
import { rightValues } from './schema-values.ts';
import type { WireRequest } from './wire-client.ts';

/** A placeholder in a request for an id that only the running service knows. `id-pool.ts` replaces it. */
export const resources = [
  'customers',
  'plans',
  'payments',
  'subscriptions',
  'invoices',
  'webhook-events',
  'payment-methods',
  'api-keys',
  'resyncs',
  'events',
  'event-endpoints',
  'checkouts',
  'meters',
] as const;
export type Resource = (typeof resources)[number];

export interface FuzzRequest extends Omit<WireRequest, 'body'> {
  readonly operation: Documented;
  /** Valid: within every documented bound. Nearly: past exactly one. Hostile: anything. */
  readonly kind: 'valid' | 'nearly' | 'hostile';
  /** Whether it still goes to its operation; else it goes wherever its path and method lead. */
  readonly isRouted: boolean;
  readonly body: string | Buffer | null;
}

export type Pair = readonly [name: string, json: string];
export type Draft = Omit<FuzzRequest, 'kind' | 'operation'>;

export const bodyHeaders = [['content-type', 'application/json']] as const;

/** Of objects in the pool. Without the bias to 0, whose object does not exist. */
const numbers = fc.noBias(fc.nat(99));

/** The name under which an id of this resource is put in once the request is sent. */
export function placeholder(resource: Resource): fc.Arbitrary<string> {
  return numbers.map((number) => `<${resource}:${number}>`);
}

export function rightPath({
  path,
}: Documented): fc.Arbitrary<{ readonly text: string; readonly isRouted: true }> {
  const resource = resources.find((name) => path.startsWith(`/api/v1/${name}/`));
  if (resource === undefined || !path.includes('{id}')) return fc.constant({ text: path, isRouted: true });
  return numbers.map((number) => ({
    text: path
      .replace('{id}', `<${resource}:${number}>`)
      .replace('{paymentMethodId}', `<payment-methods:${number}>`),
    isRouted: true,
  }));
}

/** The body with the payment method of the customer in the path or the body. Of another customer it is always a 404. */
export function withOwnPaymentMethod(path: string, body: string | null): string | null {
  const [, number = '0'] = /<customers:(\d+)>/.exec(`${path} ${body}`) ?? [];
  return body?.replaceAll(/<payment-methods:\d+>/g, `<payment-methods:${number}>`) ?? null;
}

/** Where event endpoints lead: nothing listens there, and no name server is asked. */
export const hookUrl = 'http://127.0.0.1:9/';

/** A text that requests often have: the external id of a customer, and a promotion code. */
export const knownText = 'k';

/** The processor's names for cards that pay, decline and need authentication. */
const testCards = fc.constantFrom(
  'pm_card_visa',
  'pm_card_visa_chargeDeclined',
  'pm_card_authenticationRequired',
);

/** More are rarely all valid. */
const addOnsMax = 3;

export function rightPairs(
  fields: Readonly<Record<string, Schema>>,
  required: readonly string[],
): fc.Arbitrary<readonly Pair[]> {
  const values = Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, rightField(name, schema)]),
  );
  return fc
    .record(values, { requiredKeys: [...required] })
    .map((record) => Object.entries(record).map(([name, value]) => [name, JSON.stringify(value)] as const));
}

function rightUsage(): fc.Arbitrary<unknown> {
  return fc.record(
    {
      id: fc.constantFrom('a', 'b', 'c'),
      customerId: placeholder('customers'),
      meter: fc.constant(knownText),
      quantity: fc.integer({ min: -5, max: 5 }),
      at: fc.constant(new Date().toISOString()),
    },
    { requiredKeys: ['id', 'customerId', 'meter', 'at'] },
  );
}

function rightField(name: string, schema: Schema): fc.Arbitrary<unknown> {
  switch (name) {
    case 'paymentMethodId':
      return fc.oneof(
        { weight: 2, arbitrary: placeholder('payment-methods') },
        { weight: 2, arbitrary: testCards },
        { weight: 1, arbitrary: rightValues(schema, testCards) },
      );
    case 'promotionCode':
      return fc.oneof(
        { weight: 3, arbitrary: fc.constant(knownText) },
        { weight: 1, arbitrary: rightValues(schema, testCards) },
      );
    case 'addOnPlanId':
      return placeholder('plans');
    case 'addOns':
      // Two placeholders may be replaced by the same plan, which is refused.
      return fc.array(
        fc.record(
          { planId: placeholder('plans'), quantity: fc.integer({ min: 1, max: 5 }) },
          { requiredKeys: ['planId'] },
        ),
        { maxLength: addOnsMax },
      );
    case 'meter':
      return fc.constant(knownText);
    case 'at':
      return fc.constant(new Date().toISOString());
    case 'events':
      return fc.array(rightUsage(), { minLength: 1, maxLength: 5 });
    case 'after':
      return placeholder('events');
    case 'q':
      return fc.oneof(
        ...resources.map((resource) => placeholder(resource)),
        rightValues(schema, fc.constant(knownText)),
      );
    case 'types':
      return fc
        .subarray([...eventNames.types], { minLength: 1 })
        .map((types) => (schema.type === 'string' ? types.join() : types));
    case 'waitSeconds':
      // Any other wait would be useless.
      return fc.constant(0);
    case 'locale':
      return fc.oneof(fc.constant('de'), rightValues(schema, testCards));
    case 'cancelUrl':
    case 'returnUrl':
    case 'successUrl':
      return fc.constantFrom('https://shop.example.com/', 'https://b.example.com:8443/hook?a=b');
    case 'url':
      return fc.constantFrom(hookUrl, `${hookUrl}hook?a=b`);
    default:
      return rightValues(
        schema,
        placeholder(resources.find((resource) => `${resource.slice(0, -1)}Id` === name) ?? 'customers'),
      );
  }
}

export function toJson(pairs: readonly Pair[]): string {
  return `{${pairs.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
}

export function schemaOf({ requestBody }: Documented): Schema | undefined {
  return requestBody?.content['application/json']?.schema;
}

export function fieldsOf(operation: Documented): Readonly<Record<string, Schema>> {
  return schemaOf(operation)?.properties ?? {};
}

export function requiredQueryOf({ parameters = [] }: Documented): readonly string[] {
  return parameters
    .filter(({ in: place, required }) => place === 'query' && required === true)
    .map(({ name }) => name);
}

export function queryOf({ parameters = [] }: Documented): Readonly<Record<string, Schema>> {
  return Object.fromEntries(
    parameters.filter(({ in: place }) => place === 'query').map(({ name, schema }) => [name, schema]),
  );
}
