import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mistakesMax } from '../load/limits.ts';
import { compileValidator, sizeCheck } from './validator.ts';

const text = { maxLength: 3 };
const metadata = { maxProperties: 2, additionalProperties: text };
const item = { properties: { name: text, metadata } };
const find = sizeCheck({
  properties: { name: text, count: {}, items: { maxItems: 2, items: item }, metadata },
});
const paths = (value: unknown) =>
  find(value).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);

/** An object with this many unknown fields. */
const fields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 1]));

test('mistakes have the paths of the values that are too large, at any depth', () => {
  const long = 'x'.repeat(7);
  assert.deepEqual(
    paths({ name: long, items: [{}, { name: long, metadata: { a: long, b: 'b' } }], metadata: fields(3) }),
    [
      '/name maxLength',
      '/items/1/name maxLength',
      '/items/1/metadata/a maxLength',
      '/metadata maxProperties',
    ],
  );
  assert.deepEqual(paths({ items: [{}, {}, { name: long }] }), ['/items maxItems']);
});

test('what is allowed, of another type, or a little too large is left to the other checks', () => {
  for (const value of [
    null,
    'text',
    [],
    { name: 'x'.repeat(6) },
    { name: 7, items: {}, metadata: [] },
    fields(50),
  ])
    assert.deepEqual(paths(value), []);
});

test('many unknown fields, in several objects too, are no more mistakes than a response has', () => {
  const found = find({ items: [fields(60), fields(60)] });
  assert.equal(found.length, mistakesMax);
  assert.deepEqual(found[0]?.params, { additionalProperty: 'x0' });
  assert.equal(found[0]?.instancePath, '/items/0');
});

test('no number may be the negative zero of JSON, at any depth, in lists and in maps', () => {
  const integer = { type: 'integer' };
  const validate = compileValidator(
    {
      type: 'object',
      properties: {
        amount: integer,
        days: { type: ['integer', 'null'] },
        items: { type: 'array', maxItems: 9, items: { type: 'object', properties: { quantity: integer } } },
        features: { type: 'object', additionalProperties: { type: ['boolean', 'integer', 'string'] } },
      },
    },
    'body',
  );
  const mistakesIn = (json: string) =>
    validate(JSON.parse(json)) ? [] : (validate.errors ?? []).map(({ instancePath }) => instancePath);
  const with0 = (zero: string) =>
    `{ "amount": ${zero}, "days": ${zero}, "items": [{}, { "quantity": ${zero} }], "features": { "calls": ${zero} } }`;
  assert.deepEqual(mistakesIn(with0('0')), []);
  const all = ['/amount', '/days', '/items/1/quantity', '/features/calls'];
  for (const zero of ['-0', '-0.0', '-1e-400']) assert.deepEqual(mistakesIn(with0(zero)), all, zero);
  const many = Array.from({ length: 9 }, () => '{ "quantity": -0 }');
  assert.equal(mistakesIn(`{ "items": [${many.join()}] }`).length, 9);
});
