import fc from 'fast-check';
import { hostileTexts } from './wrong-values.ts';

/** Numbers as they can stand in JSON, and some that only look as if they could. */
export const hostileNumbers: readonly string[] = [
  '-0',
  '0',
  '-1',
  '1e2',
  '100.0',
  '0.1',
  '1e-400',
  '1e400',
  '-1e400',
  '999999999999',
  '1000000000000',
  '9007199254740993',
  '99999999999999999999',
  '9'.repeat(400),
  '012',
  '+1',
  '.5',
  '0x10',
  'NaN',
  'Infinity',
];

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...hostileTexts) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
);

/** The text of a JSON value, or of something that is nearly one. */
export const hostileJson: fc.Arbitrary<string> = fc.oneof(
  hostileText.map((text) => JSON.stringify(text)),
  fc.constantFrom(...hostileNumbers),
  fc.constantFrom('null', 'true', '[]', '{}', '[1]', '[null]', '{"id":"x"}', '{"__proto__":{"x":1}}', '""'),
  fc.constantFrom(...['undefined', "'x'", '{', ']', '[,]', '\\u0041', '"\t"', '"\\x"', '/**/1', '']),
  fc.json({ maxDepth: 3 }),
);

/** Whole bodies that cost more to read than to write. */
export const hugeBody: fc.Arbitrary<string> = fc.constantFrom(
  '['.repeat(500_000),
  `${'['.repeat(400_000)}${']'.repeat(400_000)}`,
  `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  JSON.stringify('x'.repeat(1_048_000)),
  JSON.stringify({ name: 'x'.repeat(1_048_000) }),
  JSON.stringify('x'.repeat(1_048_576)),
  `{"name":[${Array.from({ length: 100_000 }, () => '"\\u0000"').join(',')}]}`,
  `{${JSON.stringify('k'.repeat(500_000))}:[${Array.from({ length: 50_000 }, () => '"\\u0000"').join(',')}]}`,
  `{${Array.from({ length: 60_000 }, (_, index) => `"f${index}":${index}`).join(',')}}`,
  `{"amount":${'9'.repeat(1_000_000)}}`,
  `[${'1e400,'.repeat(150_000)}1]`,
  `${'{"\\u0000":'.repeat(50_000)}1${'}'.repeat(50_000)}`,
);

/** Names that programs trip over, for fields and query keys. */
export const hostileName: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'length', '', 'id'),
  hostileText,
);
