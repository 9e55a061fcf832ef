import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { startFrame } from '../support/frame.ts';
import { readOpenapi } from '../support/openapi.ts';
import { sendRaw } from '../support/raw-http.ts';
import { startTill } from '../support/till.ts';
import { projectFolder } from '../support/till-in-child.ts';

interface MediaType {
  readonly schema?: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
interface Operation {
  readonly summary?: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, MediaType>> }>>;
}
interface OpenapiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

const committed = await readFile(join(projectFolder, 'openapi.json'), 'utf8');
const document: OpenapiDocument = JSON.parse(committed);
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    operation,
  })),
);

test('openapi.json is what the service serves; "npm run openapi" renews it', async (t) => {
  const { url } = await startTill({ in: 'process', for: t });
  assert.equal(committed, await readOpenapi(url));
});

test('it is OpenAPI 3.1, and every operation has a summary', () => {
  assert.match(document.openapi, /^3\.1\./);
  assert.ok(operations.length >= 3);
  for (const { name, operation } of operations) assert.ok(operation.summary, name);
});

test('the recommended rules of the OpenAPI linter pass without a warning', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: committed, absoluteRef: 'openapi.json', config });
  const lines = problems.map(
    ({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`,
  );
  assert.deepEqual(lines, []);
});

test('each resource is a component, and no schema of a response or a body is repeated inline', () => {
  const names = ['Customer', 'Plan', 'Payment', 'Refund', 'Subscription', 'Invoice', 'PaymentMethod'];
  for (const name of names) assert.ok(name in document.components.schemas, name);
  for (const { name, operation } of operations) {
    const bodies = [operation.requestBody, ...Object.values(operation.responses).map(follow)];
    const inline = bodies
      .flatMap((body) => Object.values(body?.content ?? {}))
      .filter(({ schema = {} }) => 'properties' in schema);
    assert.deepEqual(inline, [], name);
  }
});

test('no two operations describe the same problem: the document has it once, among its components', () => {
  const inline = operations
    .flatMap(({ operation }) => Object.values(operation.responses))
    .filter(({ content = {} }) => 'application/problem+json' in content)
    .map((response) => JSON.stringify(response));
  assert.equal(new Set(inline).size, inline.length);
});

test('every request and response has an example that its own schema accepts', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'doc', components: document.components });
  // Operations share most of their schemas, and compiling one takes milliseconds.
  const validators = new Map<string, ValidateFunction>();
  const validatorOf = (schema: object) => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"doc#/components/');
    const validate = validators.get(text) ?? ajv.compile(JSON.parse(text));
    validators.set(text, validate);
    return validate;
  };
  for (const { name, operation } of operations) {
    const bodies = [operation.requestBody, ...Object.values(operation.responses).map(follow)];
    for (const [type, media] of bodies.flatMap((body) => Object.entries(body?.content ?? {}))) {
      const examples = [
        ...Object.values(media.examples ?? {}).map(follow),
        ...(media.example ? [{ value: media.example }] : []),
      ];
      assert.ok(examples.length > 0, `${name} has no example for ${type}`);
      const validate = validatorOf(media.schema ?? {});
      for (const { value } of examples) {
        assert.ok(validate(value), `${name}, ${type}: ${ajv.errorsText(validate.errors)}`);
      }
    }
  }
});

test('the interactive page is served completely by this service and needs no API key', async (t) => {
  const { url } = await startFrame(t);
  const page = await fetch(`${url}/api/docs`);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'.*connect-src 'self'/);
  const html = await page.text();
  const parts = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map((match) => match[1] ?? '');
  assert.ok(parts.length >= 4);
  for (const part of parts) {
    const address = new URL(part, `${url}/api/docs`);
    assert.equal(address.origin, url, part);
    const response = await fetch(address);
    assert.equal(response.status, 200, part);
    assert.ok((await response.bytes()).length > 0, part);
  }
});

test('documents are ready bytes: compressed, with a tag, and not sent again to a caller that has them', async (t) => {
  const { url } = await startFrame(t);
  const page = await (await fetch(`${url}/api/docs`)).text();
  const parts = [...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map((match) => match[1] ?? '');
  for (const path of [
    '/api/docs',
    '/api/docs/',
    '/api/docs/json',
    '/api/docs/openapi.json',
    '/api/docs/yaml',
    ...parts,
  ]) {
    const plain = await fetch(url + path, { headers: { 'accept-encoding': 'identity' } });
    const bytes = await plain.bytes();
    const etag = plain.headers.get('etag') ?? assert.fail(path);
    assert.equal(plain.headers.get('cache-control'), 'no-cache');
    for (const coding of ['br', 'gzip']) {
      const small = await fetch(url + path, { headers: { 'accept-encoding': coding } });
      assert.equal(small.headers.get('content-encoding'), coding, path);
      assert.equal(small.headers.get('etag'), etag);
      assert.deepEqual(await small.bytes(), bytes, path);
    }
    const known = await fetch(url + path, { headers: { 'if-none-match': etag } });
    assert.deepEqual([known.status, (await known.bytes()).length], [304, 0], path);
  }
});

test('404: no spelling of a path leads out of the files of the page, and nothing is logged as an error', async (t) => {
  const { port, lines } = await startFrame(t);
  for (const path of [
    '/api/docs/static/%2e%2e/package.json',
    '/api/docs/static/%2e%2e%2fpackage.json',
    '/api/docs/static/..%2fpackage.json',
    '/api/docs/static/..%5cpackage.json',
    '/api/docs/static/../../../package.json',
    '/api/docs/static/%252e%252e/package.json',
    '/api/docs/static/%2e',
    '/api/docs/static/',
    '/api/docs/static/unknown.js',
    '/console/assets/%2e%2e/index.html',
  ]) {
    const { status } = await sendRaw(port, `GET ${path} HTTP/1.1\r\nhost: till\r\nconnection: close\r\n\r\n`);
    assert.equal(status, 404, path);
  }
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error' || level === 'warn'),
    [],
  );
});

/** What a reference names, or the value itself. */
function follow<T extends object>(value: T): T {
  if (!('$ref' in value)) return value;
  const steps = String(value.$ref).split('/').slice(1);
  return steps.reduce((inner, step) => Reflect.get(inner, step), Object(document));
}
