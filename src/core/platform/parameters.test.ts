import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Parameters } from './parameters.ts';

test('a statement has the values that its text names, however its parts were put together', () => {
  const parameters = new Parameters([20]);
  const [name, unused, city] = ['Ada', 'left out', 'Paris'].map(parameters.add);
  assert.deepEqual([name, unused, city], ['$2', '$3', '$4']);
  assert.deepEqual(parameters.statement(`city = ${city} or name = ${name} or town = ${city} limit $1`), {
    text: 'city = $1 or name = $2 or town = $1 limit $3',
    values: ['Paris', 'Ada', 20],
  });
  assert.deepEqual(parameters.statement('select 1'), { text: 'select 1', values: [] });
});

test('twelve values keep their places', () => {
  const parameters = new Parameters();
  const names = Array.from({ length: 12 }, (_, index) => parameters.add(index));
  assert.deepEqual(parameters.statement(names.toReversed().join()), {
    text: names.join(),
    values: Array.from({ length: 12 }, (_, index) => 11 - index),
  });
});

test('a text that names a value that was not added is a mistake', () => {
  assert.throws(() => new Parameters([1]).statement('select $2'), /names \$2/);
});
