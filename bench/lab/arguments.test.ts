import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readArguments } from './arguments.ts';

const known = ['reads', 'creates'];
const plain = {
  quick: false,
  help: false,
  profile: false,
  only: undefined,
  rounds: 3,
  payments: undefined,
  usageEvents: undefined,
  isComplete: true,
};

test('without options, everything runs three times', () => {
  assert.deepEqual(readArguments([], known), plain);
  assert.deepEqual(readArguments(['--quick'], known), { ...plain, quick: true });
  assert.deepEqual(readArguments(['--help'], known), { ...plain, help: true });
  const some = { ...plain, only: known, isComplete: false };
  assert.deepEqual(readArguments(['--only', 'reads,creates'], known), some);
  assert.deepEqual(readArguments(['--rounds', '1'], known), { ...plain, rounds: 1, isComplete: false });
  const more = { ...plain, payments: 20_000_000, isComplete: false };
  assert.deepEqual(readArguments(['--payments', '20000000'], known), more);
  const stored = { ...plain, usageEvents: 100_000_000, isComplete: false };
  assert.deepEqual(readArguments(['--usage-events', '100000000'], known), stored);
  assert.deepEqual(readArguments(['--profile'], known), { ...plain, profile: true, isComplete: false });
});

test('an error names the invalid argument', () => {
  for (const [args, reason] of [
    [['--fast'], /--fast/],
    [['reads'], /reads/],
    [['--only'], /--only/],
    [['--only', 'reads,writes'], /no writes; there are reads, creates/],
    [['--rounds', 'abc'], /whole number/],
    [['--rounds', '0'], /whole number/],
    [['--rounds', '1.5'], /whole number/],
    [['--payments', 'many'], /--payments takes a whole number/],
    [['--usage-events', '0'], /--usage-events takes a whole number/],
  ] as const) {
    const parsed = readArguments(args, known);
    assert.ok(typeof parsed === 'string' && reason.test(parsed), String(parsed));
  }
});
