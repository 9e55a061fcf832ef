import assert from 'node:assert/strict';
import { test } from 'node:test';
import { returnPath } from './sign-in-routes.ts';

test('a page of the console is kept with its filters', () => {
  for (const to of [
    '/console',
    '/console/payments',
    '/console/payments?status=failed&q=%26',
    '/console?range=month',
  ])
    assert.equal(returnPath(to), to);
});

test('anything else leads to the first page: no address leads to another site', () => {
  const others = [
    ...[
      undefined,
      1,
      ['/console/a'],
      '',
      '/',
      'console',
      '/consoles',
      '/api/docs',
      'https://evil.example/console',
    ],
    ...[
      '//evil.example',
      '//evil.example/console',
      '/\\evil.example',
      '\\\\evil.example',
      '/console\\..\\..\\evil',
    ],
    ...[
      '/console/../evil',
      '/console/%2e%2e/evil',
      '/console/%2E%2E/%2E%2E//evil.example',
      '/console/..//evil.example',
    ],
    ...[
      '/console//evil.example',
      '/console/%2f%2fevil.example',
      '/console/%5cevil.example',
      '/console/\tx',
      '/console\r\nx: y',
    ],
    ...['/console@evil.example', '/console:80', 'javascript:alert(1)', ' /console', '/console/\u0000'],
    ...[
      '/console/sign-in',
      '/console/sign-in/callback?code=1',
      '/console/api/v1/payments',
      `/console/${'a'.repeat(1_000)}`,
    ],
  ];
  for (const to of others) assert.equal(returnPath(to), '/console', String(to));
});
