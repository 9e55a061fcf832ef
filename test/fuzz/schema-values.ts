import fc from 'fast-check';
import type { Schema } from '../support/openapi-document.ts';

/** Where a bound is not documented, JSON numbers have one of their own. */
const integerMax = Number.MAX_SAFE_INTEGER;
/** Long texts are generated up to their documented bound; beyond this they would only slow down the run. */
const textLengthMax = 300;
/** Longer lists are of the same kind. */
const arrayLengthMax = 5;

/** Values that a schema allows, its bounds among them. `ids` generates the ids of other resources. */
export function rightValues(schema: Schema, ids: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => rightValues(one, ids)));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (Array.isArray(schema.type)) {
    return fc.oneof(...schema.type.map((type) => rightValues({ ...schema, type }, ids)));
  }
  switch (schema.type) {
    case 'integer':
      return rightIntegers(schema.minimum ?? -integerMax, schema.maximum ?? integerMax);
    case 'string':
      return schema.format === 'uuid' ? ids : rightTexts(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'object':
      return rightObjects(schema, ids);
    case 'array':
      return fc.uniqueArray(rightValues(schema.items ?? {}, ids), {
        minLength: schema.minItems ?? 0,
        maxLength: schema.maxItems ?? arrayLengthMax,
      });
    default:
      throw new Error(`no values can be generated for ${JSON.stringify(schema)}`);
  }
}

/** Objects with the keys of the schema, or whose keys are the caller's own. */
function rightObjects(schema: Schema, ids: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  if (schema.properties !== undefined) {
    const values = Object.entries(schema.properties).map(
      ([key, one]) => [key, rightValues(one, ids)] as const,
    );
    return fc.record(Object.fromEntries(values), { requiredKeys: [...(schema.required ?? [])] });
  }
  const { additionalProperties, propertyNames = {}, maxProperties = 10 } = schema;
  if (typeof additionalProperties !== 'object') throw new Error(`no keys in ${JSON.stringify(schema)}`);
  // No JSON parser of Till accepts this one.
  const keys = rightTexts({ ...propertyNames, type: 'string' }).filter((key) => key !== '__proto__');
  return fc.dictionary(keys, rightValues(additionalProperties, ids), { maxKeys: maxProperties });
}

function rightIntegers(min: number, max: number): fc.Arbitrary<number> {
  const few = { min: Math.max(min, 1), max: Math.min(max, 5_000) };
  return fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(min, max) },
    { weight: 6, arbitrary: fc.integer(few) },
    { weight: 1, arbitrary: fc.maxSafeInteger().filter((value) => value >= min && value <= max) },
  );
}

const letters = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCXYZ');
const anyLetters = fc.oneof(letters, fc.constantFrom(...'0 -_.:/\'"%$é漢ß😀Ωא'));

function rightTexts(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === 'email') return emails;
  if (schema.format === 'date-time') return times;
  if (schema.format === 'date') return days;
  const { minLength = 0, maxLength = textLengthMax, pattern = '' } = schema;
  const bounds = { minLength, maxLength: Math.min(maxLength, textLengthMax) };
  const shape = new RegExp(pattern, 'u');
  const units = [letters, anyLetters].map((unit) => fc.string({ unit, ...bounds }));
  const edges = [minLength, bounds.maxLength].map((length) => fc.constant('x'.repeat(length)));
  // Half of the texts for a currency are one, so that requests with a currency succeed with every seed.
  const known = {
    weight: units.length + edges.length,
    arbitrary: fc.constantFrom('eur', 'USD', 'jpy', 'Kwd', 'k'),
  };
  return fc.oneof(known, ...units, ...edges).filter((text) => {
    const { length } = [...text];
    return shape.test(text) && length >= minLength && length <= maxLength;
  });
}

/** One day, because the days of a request are a range, and today, because the range is short. */
const days = fc.constant(new Date().toISOString().slice(0, 10));

const times = fc.oneof(
  fc
    .date({ min: new Date('1970-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  fc.constantFrom('0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z', '2026-01-01T00:00:00.1234567+05:30'),
);

const emails = fc.oneof(
  fc.stringMatching(/^[a-z][a-z0-9]{0,20}(\.[a-z0-9]{1,9})?@[a-z]{1,20}\.(com|example|museum)$/),
  fc.constantFrom(
    'a@b.co',
    "o'neil+tag@example.com",
    `${'x'.repeat(64)}@${'y'.repeat(60)}.${'z'.repeat(60)}.example.com`,
  ),
);
