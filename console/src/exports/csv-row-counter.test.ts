import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CsvRowCounter } from './csv-row-counter.ts';

const file = 'id,text\r\n1,"two\r\nlines, ""quoted"""\r\n2,""\r\n3,é\r\n';

function count(text: string, size: number) {
  const counter = new CsvRowCounter();
  const bytes = new TextEncoder().encode(text);
  for (let start = 0; start < bytes.length; start += size) counter.add(bytes.subarray(start, start + size));
  return { rows: counter.rows, isAtRowEnd: counter.isAtRowEnd };
}

test('rows are counted the same, however the file is cut into pieces', () => {
  for (let size = 1; size <= file.length; size += 1)
    assert.deepEqual(count(file, size), { rows: 3, isAtRowEnd: true }, String(size));
});

test('a header alone has no rows, and neither has an empty file', () => {
  assert.deepEqual(count('id,text\r\n', 4), { rows: 0, isAtRowEnd: true });
  assert.deepEqual(count('', 1), { rows: 0, isAtRowEnd: false });
});

test('a file that breaks off within a row is not at its end', () => {
  for (const end of ['3', '3,"é', '3,"é\r\n', '3,"a""\r\n'])
    assert.deepEqual(count(`id,text\r\n1,a\r\n2,b\r\n${end}`, 3), { rows: 2, isAtRowEnd: false }, end);
});
