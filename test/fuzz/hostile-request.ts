import fc from 'fast-check';
import type { Documented } from '../support/openapi-document.ts';
import { hostileJson, hostileName, hostileText, hugeBody } from './hostile-values.ts';
import {
  bodyHeaders,
  type Draft,
  type FuzzRequest,
  fieldsOf,
  queryOf,
  rightPairs,
  rightPath,
  schemaOf,
  toJson,
} from './operation-parts.ts';

const methods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'PURGE',
  'QUERY',
];

/** Requests of which anything may be wrong, however much of it: some of them still reach the operation. */
export function hostile(operation: Documented): fc.Arbitrary<Draft> {
  const parts = fc.record({
    path: fc.oneof(
      { weight: 3, arbitrary: rightPath(operation) },
      { weight: 1, arbitrary: hostilePath(operation) },
    ),
    query: fc.oneof(
      { weight: 2, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: hostileQuery(operation) },
    ),
    method: fc.oneof(
      { weight: 8, arbitrary: fc.constant(operation.method) },
      { weight: 1, arbitrary: fc.constantFrom(...methods) },
    ),
    body: hostileBody(operation),
    headers: hostileHeaders,
    isChunked: fc.boolean(),
  });
  return parts.map(({ path, query, method, body, headers, isChunked }) => {
    const isRead = ['GET', 'HEAD', 'TRACE', 'OPTIONS'].includes(method);
    return {
      method,
      path: path.text + query,
      isRouted: path.isRouted && method === operation.method,
      headers,
      body: isRead && body !== null && body.length > 1_000 ? null : body,
      isChunked: isChunked && method !== 'TRACE',
    };
  });
}

function hostileBody(operation: Documented): fc.Arbitrary<string | Buffer | null> {
  const fields = fieldsOf(operation);
  const names = Object.keys(fields);
  const name = names.length === 0 ? hostileName : fc.oneof(fc.constantFrom(...names), hostileName);
  const odd = fc.tuple(name, hostileJson);
  const nearlyJson = fc
    .tuple(
      rightPairs(fields, schemaOf(operation)?.required ?? []),
      fc.array(odd, { minLength: 1, maxLength: 3 }),
    )
    // Names come twice here, on purpose: which one counts is up to the reader.
    .map(([pairs, more]) => toJson([...pairs, ...more]));
  return fc.oneof(
    { weight: 36, arbitrary: nearlyJson },
    { weight: 12, arbitrary: fc.constant(null) },
    { weight: 6, arbitrary: hostileJson },
    {
      weight: 6,
      arbitrary: fc.tuple(nearlyJson, fc.nat()).map(([text, cut]) => text.slice(0, cut % (text.length + 1))),
    },
    {
      weight: 6,
      arbitrary: fc.tuple(nearlyJson, fc.nat(), fc.integer({ min: 0x80, max: 0xff })).map(breakUtf8),
    },
    { weight: 3, arbitrary: fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 3, arbitrary: nearlyJson.map((text) => Buffer.from(text, 'utf16le')) },
    { weight: 3, arbitrary: nearlyJson.map((text) => `\ufeff${text}`) },
    { weight: 1, arbitrary: hugeBody },
  );
}

function breakUtf8([text, place, byte]: readonly [string, number, number]): Buffer {
  const bytes = Buffer.from(text);
  bytes[place % bytes.length] = byte;
  return bytes;
}

/** What HTTP lets stand in a header: no line can be broken, so attempts at it come in every other spelling. */
const headerText = hostileText.map((text) => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/gu, '?'));
const hostileHeaders: fc.Arbitrary<FuzzRequest['headers']> = fc
  .array(
    fc.oneof(
      fc.tuple(
        fc.constantFrom(
          'idempotency-key',
          'x-request-id',
          'x-api-key',
          'accept',
          'accept-encoding',
          'origin',
          'cookie',
          'x-forwarded-for',
          'forwarded',
          'x-http-method-override',
          'stripe-signature',
          'user-agent',
          'content-encoding',
          'range',
          'if-none-match',
        ),
        headerText,
      ),
      fc.tuple(
        fc.constant('content-type'),
        fc.oneof(
          fc.constantFrom(
            'text/plain',
            'application/json; charset=utf-16',
            'application/json;charset=latin1',
            'APPLICATION/JSON',
            'application/jsonx',
            'application/json, text/html',
            'multipart/form-data; boundary=x',
            'application/x-www-form-urlencoded',
            'application/problem+json',
            ';',
            '/',
          ),
          headerText,
        ),
      ),
    ),
    { maxLength: 2 },
  )
  // The first content type is the one that counts, so a hostile one must come first to be used.
  .chain((odd) =>
    fc.boolean().map((isFirst) => (isFirst ? [...odd, ...bodyHeaders] : [...bodyHeaders, ...odd])),
  );

function hostilePath({
  path,
}: Documented): fc.Arbitrary<{ readonly text: string; readonly isRouted: boolean }> {
  const encoded = hostileText.map((text) => ({
    text: encodeURIComponent(text.toWellFormed()),
    isRouted: text !== '',
  }));
  const step = fc.oneof(
    encoded,
    fc.constantFrom(
      ...[
        '%2e%2e%2f',
        '..%2f..',
        '%00',
        '%zz',
        '%ff',
        '%',
        '%c0%af',
        'a%2fb',
        '.',
        '..',
        '*',
        ':id',
        '{id}',
        'x;y',
        "'--",
      ].map((text) => ({ text, isRouted: true })),
      ...['a/b', '/', '../health', 'x#y'].map((text) => ({ text, isRouted: false })),
    ),
  );
  const parameters = path.match(/\{\w+\}/g) ?? [];
  const inPlace = fc.tuple(step, fc.nat()).map(([{ text, isRouted }, which]) => ({
    text: path.replace(parameters[which % parameters.length] ?? '', text),
    isRouted,
  }));
  const bent = fc
    .constantFrom(
      `/${path}`,
      `${path}/`,
      path.toUpperCase(),
      path.replace('/api', '/api/.'),
      path.replace('v1', 'v%31'),
      path.replace('v1', '..%2fv1'),
      `${path}%2f`,
      `${path};a=b`,
      `${path}/../customers`,
    )
    .map((text) => ({ text, isRouted: false }));
  return path.includes('{id}')
    ? fc.oneof({ weight: 3, arbitrary: inPlace }, { weight: 1, arbitrary: bent })
    : bent;
}

function hostileQuery(operation: Documented): fc.Arbitrary<string> {
  const known = Object.keys(queryOf(operation));
  const name = known.length === 0 ? hostileName : fc.oneof(fc.constantFrom(...known), hostileName);
  const encode = (text: string) => encodeURIComponent(text.toWellFormed());
  const pair = fc.oneof(
    fc.tuple(name, hostileText).map(([key, value]) => `${encode(key)}=${encode(value)}`),
    fc
      .tuple(name, fc.constantFrom('%', '%zz', '%ff', '+', '=', '&&', '[a]=1', '#'))
      .map(([key, value]) => `${encode(key)}=${value}`),
  );
  return fc
    .array(pair, { minLength: 1, maxLength: 3 })
    .map((pairs) => `?${pairs.join('&')}`.replaceAll('#', '%23').slice(0, 8_000));
}
