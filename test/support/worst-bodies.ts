import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import type { Schema } from './openapi-document.ts';

/** Short values of every type, and of every shape that a validator may walk through. */
const fillers = ['0', '{}', '[]', '""', 'null', '"\\u0000"', '{"a":0}'];

/** Texts of which a careless pattern tries many divisions. */
const repeatedTexts = ['x', ' ', 'a@', 'a.', '-', '\\u0000', '\u{1f600}', '0'];

/** Bodies that any operation refuses: JSON of up to this length. They are texts, because some cannot be values. */
export function* worstBodies(bytes: number): Iterable<string> {
  for (const filler of fillers) yield fill('[', filler, ']', bytes);
  for (const filler of ['0', '{}', '"\\u0000"'])
    yield fill('{', (index) => `"k${index}":${filler}`, '}', bytes);
  yield `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`;
  yield `{"a":${'{"a":'.repeat(bytes / 8)}0${'}'.repeat(bytes / 8)}}`;
}

/** Bodies with one field that is as wrong as possible: of another type, much too large, or both. */
export function* worstFields(name: string, bytes: number): Iterable<string> {
  const open = `{"${name}":`;
  for (const text of repeatedTexts) yield fill(`${open}"`, text, '"}', bytes, '');
  yield fill(`${open}1`, '0', '}', bytes, '');
  yield fill(`${open}{`, (index) => `"k${index}":0`, '}}', bytes);
  yield fill(`${open}{`, (index) => `" ${index}":"\\u0000"`, '}}', bytes);
  yield fill(`${open}[`, (index) => `"${index}"`, ']}', bytes);
}

/** Bodies with one list that is as wrong as possible. */
export function* worstLists(name: string, { items, maxItems }: Schema, bytes: number): Iterable<string> {
  const open = `{"${name}":`;
  if (items === undefined || maxItems === undefined) return;
  yield fill(`${open}[`, (index) => `"${index}"`, ']}', bytes);
  for (const filler of fillers) yield fill(`${open}[`, filler, ']}', bytes);
  yield fill(`${open}[`, (index) => `{"a":${index}}`, ']}', bytes);
  // As many items as are allowed, each as wrong as fits.
  const item = fill('{', (index) => `"k${index}":0`, '}', Math.floor(bytes / maxItems) - 2);
  yield fill(`${open}[`, item, ']}', bytes);
}

/** As many entries as fit. */
function fill(
  open: string,
  entry: string | ((index: number) => string),
  close: string,
  bytes: number,
  separator = ',',
): string {
  if (typeof entry === 'string') {
    const room = bytes - Buffer.byteLength(open + close + entry);
    const more = Math.max(0, Math.floor(room / Buffer.byteLength(separator + entry)));
    return `${open}${entry}${`${separator}${entry}`.repeat(more)}${close}`;
  }
  const parts: string[] = [];
  const length = (text: string) => Buffer.byteLength(text);
  let left = bytes - length(open) - length(close) + length(separator);
  for (let index = 0; ; index++) {
    const next = entry(index);
    left -= length(next) + length(separator);
    if (left < 0) return `${open}${parts.join(separator)}${close}`;
    parts.push(next);
  }
}

const ajv = new Ajv({ strict: false });
formats.default(ajv);

/** The largest body that an operation accepts: every field, each as large as it may be. */
export function largestBody(schema: Schema): string {
  return JSON.stringify(largest(schema));
}

function largest(schema: Schema): unknown {
  const { anyOf, enum: values, type, minimum = -1e9, maximum = 1e9 } = schema;
  if (anyOf?.[0] !== undefined) return largest(anyOf[0]);
  if (values !== undefined) return values.at(-1);
  switch (Array.isArray(type) ? type[0] : type) {
    case 'integer':
    case 'number':
      return Math.abs(minimum) > Math.abs(maximum) ? minimum : maximum;
    case 'boolean':
      return true;
    case 'object':
      return largestObject(schema);
    case 'array':
      return largestArray(schema);
    default:
      return largestText(schema);
  }
}

function largestObject({ properties, propertyNames, maxProperties = 0, additionalProperties }: Schema) {
  if (properties !== undefined)
    return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, largest(field)]));
  const value = typeof additionalProperties === 'object' ? largest(additionalProperties) : 0;
  const name = [...largestText({ maxLength: 40, ...propertyNames })];
  const names = Array.from({ length: maxProperties }, (_, index) => `${index}`.padStart(4, 'k'));
  return Object.fromEntries(names.map((own) => [`${own}${name.slice(own.length).join('')}`, value]));
}

function largestArray({ items = {}, maxItems = 0 }: Schema): readonly unknown[] {
  if (items.enum !== undefined) return items.enum.slice(0, maxItems);
  const item = largest(items);
  return Array.from({ length: maxItems }, (_, index) =>
    typeof item === 'object' && item !== null && 'id' in item ? { ...item, id: `${index}` } : item,
  );
}

/** The first of these texts that the schema accepts. */
function largestText(schema: Schema): string {
  const { maxLength = 1_000 } = schema;
  const long = ['\u{1f600}', 'ﷺ', 'x', 'a', 'A', '0'].map((unit) => unit.repeat(maxLength));
  const shaped = [
    `https://example.com/${'x'.repeat(Math.max(0, maxLength - 20))}`,
    `${'x'.repeat(64)}@${'y'.repeat(60)}.${'z'.repeat(60)}.example.com`,
    ...['eur', '2026-11-19T00:00:00.000Z', '2026-11-19', '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90'],
  ];
  const isRight = ajv.compile(schema);
  const found = [...long, ...shaped].find((text) => isRight(text));
  if (found === undefined) throw new Error(`no text for ${JSON.stringify(schema)}`);
  return found;
}
