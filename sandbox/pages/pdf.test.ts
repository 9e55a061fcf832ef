import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainPdf } from './pdf.ts';

test('the table of a PDF names the start of each of its objects', () => {
  const pdf = plainPdf(Array.from({ length: 100 }, (_, index) => `line ${index}`));
  const offsets = [...pdf.matchAll(/^(\d{10}) 00000 n $/gm)].map(([, offset]) => Number(offset));
  assert.equal(offsets.length, 9);
  for (const [index, offset] of offsets.entries())
    assert.ok(pdf.slice(offset).startsWith(`${index + 1} 0 obj\n`), `object ${index + 1}`);
  assert.equal(pdf.slice(Number(/startxref\n(\d+)/.exec(pdf)?.[1])).slice(0, 4), 'xref');
  assert.match(pdf, /\/Count 3 /);
  for (const [, length, stream = ''] of pdf.matchAll(/\/Length (\d+) >>\nstream\n(.*?)\nendstream/gs))
    assert.equal(stream.length, Number(length));
});

test('text cannot leave its line, and contains only characters of the font', () => {
  const pdf = plainPdf(['a (b) \\ é € 日\n']);
  assert.match(pdf, /\(a \\050b\\051 \\134 \\351 \\200 \?\?\) Tj/);
  assert.match(pdf, /^[\n\x20-\x7e]*$/);
});
