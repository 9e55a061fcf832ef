import assert from 'node:assert/strict';
import { test } from 'node:test';
import { currentSpan, inSpan, runInSpan, type Span, summaryOf } from './tracing.ts';

test('a statement is named after its kind and its tables, without its values', () => {
  assert.equal(
    summaryOf(`\n  insert into till.payments (id) select 'x' from till.claims`),
    'insert till.payments till.claims',
  );
  assert.equal(summaryOf('begin; set local lock_timeout = 250'), 'begin');
  assert.equal(
    summaryOf('select a from till.a, till.b, till.c, till.d, till.a'),
    'select till.a till.b till.c',
  );
});

test('without a span, work runs as it is', async () => {
  assert.equal(await inSpan('a step', async () => currentSpan()), undefined);
});

test('work that goes on after its request has ended belongs to no span', () => {
  const span = { hasEnded: false } as Span & { hasEnded: boolean };
  runInSpan(span, () => {
    assert.equal(currentSpan(), span);
    (span as { hasEnded: boolean }).hasEnded = true;
    assert.equal(currentSpan(), undefined);
  });
});
