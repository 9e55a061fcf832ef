import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Type } from '#core/platform/schemas.ts';
import { flatten, parseCsv, readCsv } from '../../../test/support/csv.ts';
import { assertProperty } from '../../../test/support/seeds.ts';
import { MetadataResponse, nullable } from '../docs/api-schema.ts';
import { columnsOf, csvLine, headerLine } from './csv.ts';

const schema = Type.Object({
  id: Type.String(),
  amount: Type.Integer(),
  active: Type.Boolean(),
  failure: nullable(
    Type.Object({ code: nullable(Type.String()), inner: Type.Object({ text: Type.String() }) }),
  ),
  metadata: MetadataResponse,
  list: Type.Array(Type.String()),
});
const columns = columnsOf(schema);
const names = ['id', 'amount', 'active', 'failure.code', 'failure.inner.text', 'metadata', 'list'];

const texts = fc.oneof(
  fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
  fc.string({ unit: fc.constantFrom(...'=+-@＝＋－＠\'",;\t\r\n .5a') }),
);
const objects = fc.record({
  id: texts,
  amount: fc.maxSafeInteger(),
  active: fc.boolean(),
  failure: fc.option(fc.record({ code: fc.option(texts), inner: fc.record({ text: texts }) })),
  metadata: fc.dictionary(texts, texts),
  list: fc.array(texts),
});

test('the columns are the fields, those of nested objects with a dot', () => {
  assert.equal(headerLine(columns), `${names.join(',')}\r\n`);
});

test('an amount has a second column, in the decimals of its currency', () => {
  const priced = columnsOf(
    Type.Object({
      amount: Type.Integer(),
      currency: Type.String(),
      dispute: nullable(Type.Object({ amount: nullable(Type.Integer()) })),
      discount: nullable(
        Type.Object({ amountOff: nullable(Type.Integer()), currency: nullable(Type.String()) }),
      ),
    }),
  );
  assert.equal(
    headerLine(priced),
    'amount,amountDecimal,currency,dispute.amount,dispute.amountDecimal,discount.amountOff,' +
      'discount.amountOffDecimal,discount.currency\r\n',
  );
  const line = (currency: string, amount: number) =>
    csvLine(priced, { amount, currency, dispute: null, discount: { amountOff: amount, currency: 'jpy' } });
  assert.equal(line('eur', 5_800), '5800,58.00,eur,,,5800,5800,jpy\r\n');
  assert.equal(line('kwd', 58), '58,0.058,kwd,,,58,58,jpy\r\n');
  assert.equal(line('jpy', 0), '0,0,jpy,,,0,0,jpy\r\n');
  assert.equal(line('usd', -5), '-5,-0.05,usd,,,-5,-5,jpy\r\n');
  const of = (dispute: object | null, discount: object | null) =>
    csvLine(priced, { amount: 1, currency: 'eur', dispute, discount });
  assert.equal(of({ amount: 1 }, null), '1,0.01,eur,1,0.01,,,\r\n');
  assert.equal(of({ amount: null }, { amountOff: null, currency: null }), '1,0.01,eur,,,,,\r\n');
});

test('a file reads back as the objects that it was written from', async () => {
  await assertProperty(
    fc.property(fc.array(objects, { maxLength: 5 }), (all) => {
      const file = headerLine(columns) + all.map((one) => csvLine(columns, one)).join('');
      assert.deepEqual(
        readCsv(file),
        all.map((one) => flatten(one, names)),
      );
    }),
  );
});

test('no part of a file is a formula to a reader that splits at other characters', async () => {
  await assertProperty(
    fc.property(fc.array(objects, { minLength: 1, maxLength: 3 }), (all) => {
      const file = all.map((one) => csvLine(columns, { ...one, id: 'id' })).join('');
      for (const part of file.split(/[;\t\r\n]/))
        assert.doesNotMatch(part, /^[" ]*[=+\-@＝＋－＠]/, JSON.stringify(file));
    }),
  );
});

test('no cell is a formula, whatever its text, and plain numbers stay as they are', async () => {
  const cell = (id: unknown) => parseCsv(csvLine([{ name: 'id', path: ['id'] }], { id }))[0]?.[0];
  await assertProperty(
    fc.property(texts, (text) => {
      const shown = cell(text) ?? '';
      assert.ok(
        !/^[=+\-@＝＋－＠\t\r\n]/.test(shown) || /^[+-]\d+(\.\d+)?$/.test(shown),
        JSON.stringify(shown),
      );
    }),
  );
  for (const [value, shown] of [
    ['=1+1', "'=1+1"],
    ['-5', '-5'],
    ['+15550001234', '+15550001234'],
    ['-5+cmd', "'-5+cmd"],
    ['＝1+1', "'＝1+1"],
    ['a;=1+1', "a;'=1+1"],
    ['a;"=1"', 'a;\'"=1"'],
    ['a\n＠b', "a\n'＠b"],
    ['a;b', 'a;b'],
    [' =1', "' =1"],
    ['+1 555', "'+1 555"],
    ['@ada', "'@ada"],
    ['\tx', "'\tx"],
    ["'=x", "''=x"],
    ["'x", "'x"],
    [-5, '-5'],
    ['', ''],
    [null, null],
    [undefined, null],
    [{ a: '=1' }, '{"a":"=1"}'],
    [{ a: 'x;=1' }, '{"a":"x\\u003b=1"}'],
  ] as const)
    assert.equal(cell(value), shown, JSON.stringify(value));
});
