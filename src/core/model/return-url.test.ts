import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../errors.ts';
import { refuseReturnUrls } from './return-url.ts';

/** The fields with a mistake. */
function refused(urls: Readonly<Record<string, string>>, origins: readonly string[] = []): readonly string[] {
  try {
    refuseReturnUrls(urls, origins);
    return [];
  } catch (error) {
    assert(error instanceof Failure && error.code === 'invalid_request');
    return error.extras.errors?.map(({ path }) => path) ?? [];
  }
}

test('an absolute URL is allowed, with a place for the id of a checkout', () => {
  for (const url of [
    'https://shop.example.com',
    'http://127.0.0.1:8080/done?checkout={CHECKOUT_ID}#top',
    'HTTPS://SHOP.example.com/a/ü',
    `https://shop.example.com/${'a'.repeat(1_975)}`,
  ])
    assert.deepEqual(refused({ url }), [], url);
});

test('a URL with which a page could lead elsewhere, or nowhere, is refused', () => {
  for (const url of [
    '',
    '/account',
    'shop.example.com',
    '//shop.example.com',
    'https:shop.example.com',
    'https://',
    'https:///',
    'ftp://shop.example.com',
    'javascript:alert(1)',
    'https://ada@shop.example.com',
    'https://:secret@shop.example.com',
    'https://shop.example.com\\@evil.example',
    'https://shop.example.com/ a',
    ' https://shop.example.com',
    'https://shop.exa\nmple.com',
    'https://shop.example.com/\u0000',
    `https://shop.example.com/${'a'.repeat(1_976)}`,
  ])
    assert.deepEqual(refused({ url }), ['body.url'], JSON.stringify(url));
});

test('with origins, only URLs of these origins are allowed, and every mistake is reported', () => {
  const origins = ['https://shop.example.com', 'http://127.0.0.1:8080'];
  const allowed = { successUrl: 'https://SHOP.example.com:443/a', cancelUrl: 'http://127.0.0.1:8080/b' };
  assert.deepEqual(refused(allowed, origins), []);
  for (const url of [
    'http://shop.example.com',
    'https://shop.example.com:8443',
    'https://shop.example.com.evil.example',
    'https://a.shop.example.com',
    'http://127.0.0.1:80',
  ])
    assert.deepEqual(refused({ ...allowed, url }, origins), ['body.url'], url);
  assert.deepEqual(refused({ successUrl: 'x', cancelUrl: 'y' }), ['body.successUrl', 'body.cancelUrl']);
});
