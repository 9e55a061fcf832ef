import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import type { Schema } from '../support/openapi-document.ts';

const integerMax = Number.MAX_SAFE_INTEGER;

const ajv = new Ajv({ strict: false });
formats.default(ajv);

/**
 * Texts that have broken programs before: injections, odd Unicode, control characters, names that objects are born
 * with.
 */
export const hostileTexts: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udc00',
  '\u202eabc',
  '\u200b',
  '\ufeff',
  '\uffff',
  '\u2028',
  '\u0130stanbul',
  'e\u0301'.repeat(40),
  '\u{1d54f}'.repeat(64),
  "' or 1=1 --",
  "'; drop table till.payments; --",
  '$1',
  '%s%n%x',
  '{{7*7}}#{7*7}',
  '../../etc/passwd',
  '..\\..\\boot.ini',
  'a\r\nset-cookie: x=1',
  '\n{"level":"fatal","msg":"forged"}',
  '\u001b[31mred\u001b[0m',
  '\u009b31m',
  '<script>alert(1)</script>',
  'null',
  'NaN',
  '-0',
  '1e400',
  '__proto__',
  'constructor',
  'toString',
  'x'.repeat(255),
  'x'.repeat(257),
  'x'.repeat(5_000),
];

/** Values that a schema refuses: each breaks one of its constraints and keeps the others where it can. */
export function wrongValues(schema: Schema): readonly unknown[] {
  const { minimum = 0, maximum = integerMax, maxLength = 0, pattern = '' } = schema;
  // The length that a pattern allows, if it says so at its end.
  const [, lengthMax = maxLength] = /\{\d+,(\d+)\}\$$/.exec(pattern) ?? [];
  const isRight = ajv.compile(schema);
  const candidates = [
    ...[null, true, 7, 1.5, -1, '', '1', 'none of these', [], {}, [1], ['a'], { length: 1 }],
    ...[minimum - 1, maximum + 1, minimum + 0.5, 2 ** 53, 1e300],
    ...['x'.repeat(Number(lengthMax) + 1), `${'x'.repeat(maxLength)}@example.com`, 'a@b@example.com'],
    ...[
      ' ',
      ' a',
      'a ',
      'a b',
      'a,',
      'ABC',
      'ab1',
      'éée',
      '\u200b',
      'a\nb',
      'a[1]',
      'till_id',
      'a"b',
      'a\\b',
      '😀',
      '__proto__',
    ],
    ...['not-a-uuid', `urn:uuid:${uuid}`, `{${uuid}}`],
    ...inDictionary(schema),
  ];
  const refused = candidates.filter((value) => !isRight(value));
  // A schema cannot express it, but no text may contain them: PostgreSQL and the processor refuse both.
  const unstorable = hostileTexts.filter((text) => text.includes('\0') || !text.isWellFormed());
  // The library's own pattern lets it pass; the service takes the canonical form alone.
  const noncanonical = schema.format === 'uuid' ? [`urn:uuid:${uuid}`] : [];
  return [...refused, ...unstorable, ...noncanonical];
}

const uuid = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

/** Objects whose keys are the caller's own, with one wrong key or value. */
function inDictionary({ additionalProperties, propertyNames }: Schema): readonly unknown[] {
  if (typeof additionalProperties !== 'object') return [];
  const keys = wrongValues({ type: 'string', ...propertyNames }).filter((key) => typeof key === 'string');
  return [
    ...keys.map((key) => ({ [key]: 'x' })),
    ...wrongValues(additionalProperties).map((value) => ({ a: value })),
  ];
}

/** Whether a schema of the document allows a value. Some rules of the service are stricter. */
export function isAllowed(schema: Schema, value: unknown): boolean {
  return ajv.compile(schema)(value) === true;
}
