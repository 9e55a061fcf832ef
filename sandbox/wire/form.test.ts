import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../test/support/seeds.ts';
import { canonicalForm, type FormNode, parseForm } from './form.ts';
import { WireError } from './wire-error.ts';

/** Maps as plain objects, which are easier to compare. */
function plain(node: FormNode): unknown {
  return typeof node === 'string'
    ? node
    : Object.fromEntries([...node].map(([key, value]) => [key, plain(value)]));
}

test('names nest by brackets, numbered and unnumbered arrays alike', () => {
  assert.deepEqual(plain(parseForm('a=1&b[c][d]=2&e[0]=x&e[1]=y&f[]=p&f[]=q')), {
    a: '1',
    b: { c: { d: '2' } },
    e: { 0: 'x', 1: 'y' },
    f: { 0: 'p', 1: 'q' },
  });
});

test('percent signs and plus signs are decoded, in names too', () => {
  assert.deepEqual(plain(parseForm('metadata%5Ba+b%5D=%C3%BC+1%2B1')), { metadata: { 'a b': 'ü 1+1' } });
});

test('the last of several equal names wins, and a name without a value is empty', () => {
  assert.deepEqual(plain(parseForm('a=1&a=2&b')), { a: '2', b: '' });
});

test('a name that is both a value and an object is refused, either way round', () => {
  for (const form of [
    'a=1&a[b]=2',
    'a[b]=2&a=1',
    'a[b=1',
    'a[b]c=1',
    'a=%',
    'a=%ff',
    `${'a[b]'.padEnd(40, '[b]')}=1`,
  ])
    assert.throws(() => parseForm(form), WireError, form);
});

test('__proto__ is an ordinary name', () => {
  const form = parseForm('__proto__[x]=1');
  assert.equal(plain(form.get('__proto__') ?? '') instanceof Object, true);
  assert.equal(Object.hasOwn(Object.prototype, 'x'), false);
});

test('the canonical text does not depend on the order, but on everything else', () => {
  assert.equal(canonicalForm(parseForm('a=1&b[c]=2&b[d]=3')), canonicalForm(parseForm('b[d]=3&b[c]=2&a=1')));
  assert.notEqual(canonicalForm(parseForm('a=1')), canonicalForm(parseForm('a=2')));
  assert.notEqual(canonicalForm(parseForm('a[b]=1')), canonicalForm(parseForm('a=%7B%22b%22%3A%221%22%7D')));
});

test('any text is either parsed or refused as a bad request', async () => {
  await assertProperty(
    fc.property(
      fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('a', '[', ']', '=', '&', '%', '+', '0') })),
      (text) => {
        try {
          parseForm(text);
        } catch (error) {
          assert.ok(error instanceof WireError && error.status === 400);
        }
      },
    ),
    1_000,
  );
});
