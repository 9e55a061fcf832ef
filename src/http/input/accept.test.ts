import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptsCoding, asksFor } from './accept.ts';

const type = 'text/csv';

test('a header that names the media type asks for it', () => {
  for (const accept of [
    'text/csv',
    'Text/CSV',
    'text/csv;q=1',
    'text/csv; charset=utf-8; Q=0.5',
    'text/csv;q=0.001',
    'application/json, text/csv',
    'text/csv, */*',
    'text/csv;q=0.5, */*;q=0.1',
    'text/csv;q=0.5, application/*;q=0.5',
    'text/csv;q=0.5, application/json;q=0.4, */*',
    'text/csv;q=0, text/csv;header=present',
    'text/plain;note="a, b;q=0", text/csv',
  ])
    assert.ok(asksFor(accept, type), accept);
});

test('a header that does not name the media type, excludes it, or prefers JSON does not', () => {
  for (const accept of [
    undefined,
    '',
    '*/*',
    'text/*',
    'text/csvs',
    'application/json',
    'text/csv;q=0',
    'text/csv;q=0.000, */*',
    'text/csv ; Q=0.0',
    'text/csv;q=0.5, application/json',
    'text/csv;q=0.5, application/*;q=0.6',
    'text/csv;q=0.5, */*',
    'text/plain;note="a, text/csv',
    'text/plain;note="\\", text/csv"',
    ';,;',
  ])
    assert.ok(!asksFor(accept, type), accept);
});

test('a malformed weight counts as no weight', () => {
  for (const accept of ['text/csv;q=', 'text/csv;q=2', 'text/csv;q=-1', 'text/csv;q=0.0001', 'text/csv;q=x'])
    assert.ok(asksFor(accept, type), accept);
});

test('a content coding is used if it is named and not excluded', () => {
  for (const accepted of ['br', 'gzip, BR', 'br;q=0.1, gzip'])
    assert.ok(acceptsCoding(accepted, 'br'), accepted);
  for (const excluded of [undefined, '', 'gzip', 'br;q=0', '*', 'brotli'])
    assert.ok(!acceptsCoding(excluded, 'br'), excluded);
});
