import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseForm } from './form.ts';
import {
  applyMetadata,
  array,
  bool,
  clearable,
  integer,
  metadata,
  object,
  oneOf,
  parseFields,
  range,
  required,
  text,
} from './params.ts';
import { WireError } from './wire-error.ts';

const fields = {
  amount: required(integer(1, 100)),
  name: clearable(text(5)),
  kind: oneOf('a', 'b'),
  on: bool,
  list: array(text(), 2),
  nested: object({ inner: required(text()) }),
  created: range,
};

function parse(form: string) {
  return parseFields(fields, parseForm(form));
}

test('every kind of parameter is parsed into its type', () => {
  assert.deepEqual(
    parse('amount=7&name=&kind=b&on=true&list[1]=y&list[0]=x&nested[inner]=i&created[gte]=5'),
    {
      amount: 7,
      name: null,
      kind: 'b',
      on: true,
      list: ['x', 'y'],
      nested: { inner: 'i' },
      created: { gte: 5 },
    },
  );
});

test('each mistake names its parameter', () => {
  const mistakes: [string, string, string | undefined][] = [
    ['', 'amount', 'parameter_missing'],
    ['amount=0', 'amount', 'parameter_invalid_integer'],
    ['amount=101', 'amount', 'parameter_invalid_integer'],
    ['amount=1e2', 'amount', 'parameter_invalid_integer'],
    ['amount=1&name=sixsix', 'name', undefined],
    ['amount=1&kind=c', 'kind', undefined],
    ['amount=1&on=1', 'on', undefined],
    ['amount=1&list=x', 'list', undefined],
    ['amount=1&list[a]=x', 'list', undefined],
    ['amount=1&list[]=x&list[]=y&list[]=z', 'list', undefined],
    ['amount=1&nested=x', 'nested', undefined],
    ['amount=1&nested[other]=x', 'nested[other]', 'parameter_unknown'],
    ['amount=1&nested[inner]=', 'nested[inner]', 'parameter_invalid_empty'],
    ['amount=1&__proto__=x', '__proto__', 'parameter_unknown'],
  ];
  for (const [form, param, code] of mistakes)
    assert.throws(
      () => parse(form),
      (error) => error instanceof WireError && error.body.param === param && error.body.code === code,
      form,
    );
});

test('metadata merges, unsets by an empty value, and is bounded after the merge', () => {
  const change = (form: string) => {
    const node = parseForm(form).get('m');
    assert.ok(node !== undefined);
    return metadata(node, 'm');
  };
  assert.deepEqual(applyMetadata({ a: '1', b: '2' }, change('m[a]=&m[c]=3')), { b: '2', c: '3' });
  assert.deepEqual(applyMetadata({ a: '1' }, change('m=')), {});
  const full = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, 'v']));
  assert.throws(() => applyMetadata(full, change('m[more]=v')), WireError);
  assert.equal(Object.keys(applyMetadata(full, change('m[k0]=&m[more]=v'))).length, 50);
});
