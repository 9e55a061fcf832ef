import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import { secretBytes, writeKey } from '#core/model/api-key.ts';
import { newId } from '#core/platform/id.ts';
import { ApiKeyRing } from '../access/api-guard.ts';
import { requestIdOf as idOf } from './request-parts.ts';

const keys = new ApiKeyRing([{ name: 'shop', application: 'shop', key: 'from-the-environment' }]);
const requestIdOf = (headers: IncomingHttpHeaders) => idOf(headers, (text) => keys.find(text) !== undefined);

const isNew = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

test("the caller's request id is kept if it is safe to log", () => {
  for (const id of ['abc-123', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'a'.repeat(128)]) {
    assert.equal(requestIdOf({ 'x-request-id': id }), id);
  }
});

test('any other request id is replaced by a new one', () => {
  assert.match(requestIdOf({}), isNew);
  for (const id of ['', 'a b', 'a\nb', '"x"', 'ä', 'a'.repeat(129)])
    assert.match(requestIdOf({ 'x-request-id': id }), isNew);
});

test('an API key is no request id: not one that looks like one of Till, nor the one of the request itself', () => {
  const key = writeKey(newId(new Date()), randomBytes(secretBytes));
  for (const id of [key, `id-${key}`, key.slice(0, -5)])
    assert.match(requestIdOf({ 'x-request-id': id }), isNew);
  // As Till generates one at its first start.
  const generated = `till_${randomBytes(32).toString('base64url')}`;
  for (const id of [generated, `id-${generated}`]) assert.match(requestIdOf({ 'x-request-id': id }), isNew);
  // Without the header that should have it, and with the key of somebody else.
  for (const headers of [{}, { 'x-api-key': 'other' }])
    assert.match(requestIdOf({ ...headers, 'x-request-id': 'from-the-environment' }), isNew);
  const headers = { 'x-api-key': 'from-the-environment' };
  assert.match(requestIdOf({ ...headers, 'x-request-id': 'a:from-the-environment' }), isNew);
  assert.equal(requestIdOf({ ...headers, 'x-request-id': 'environment' }), 'environment');
  assert.equal(requestIdOf({ 'x-api-key': '', 'x-request-id': 'a' }), 'a');
});
