import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '#core/platform/clock.ts';
import { readJson, testKey } from '../support/client.ts';
import { callConsole, consoleHeaders, cookieOf, openSession, signIn } from '../support/console-session.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const current = '/api/v1/api-keys/current';
const hourMs = 3_600_000;

function movableClock(): Clock & { addMs(ms: number): void } {
  let aheadMs = 0;
  return {
    now: () => new Date(Date.now() + aheadMs),
    addMs: (ms) => {
      aheadMs += ms;
    },
  };
}

async function status(response: Promise<Response>): Promise<number> {
  const { status: code, body } = await response;
  await body?.cancel();
  return code;
}

test('a session works below /console/api/v1 alone, and an API key everywhere but there', async (t) => {
  const till = await startTill({ in: 'process', for: t, hasConsole: true });
  const cookie = await openSession(till.url);
  const key = { 'x-api-key': testKey };
  assert.deepEqual(await readJson(await callConsole(till.url, current, cookie), 200), {
    ...(await till.get<object>('/api-keys/current')),
  });
  const created = await callConsole(till.url, '/api/v1/customers', cookie, {
    method: 'POST',
    body: JSON.stringify({ email: 'ada@example.com' }),
  });
  assert.equal(created.status, 201);
  // A cookie is never read elsewhere, and an API key never there.
  for (const path of ['/api/v1/payments', '/api/v1/api-keys/current', '/api/v1/nothing'])
    assert.equal(await status(fetch(till.url + path, { headers: { cookie, ...consoleHeaders } })), 401, path);
  assert.equal(await status(callConsole(till.url, current, '', { headers: key })), 401);
  assert.equal(await status(fetch(`${till.url}${current}`, { headers: { ...key, cookie: 'till=x' } })), 200);
  // No spelling of the path leads past the session to the API.
  for (const path of [
    '//api/v1/payments',
    '/api//v1/payments',
    '/%61pi/v1/payments',
    '/api/v1/../v1/payments',
  ])
    assert.notEqual(
      await contentType(fetch(`${till.url}/console${path}`, { headers: key })),
      'application/json',
    );
  assert.equal(await status(callConsole(till.url, '/api/v1/nothing', cookie)), 404);
  // The scopes of the key count.
  const { key: reader } = await till.post<{ key: string }>('/api-keys', { name: 'reader', scopes: ['read'] });
  const body = JSON.stringify({ email: 'a@example.com' });
  const asReader = await openSession(till.url, reader);
  assert.equal(await status(callConsole(till.url, '/api/v1/payments', asReader)), 200);
  assert.equal(
    await status(callConsole(till.url, '/api/v1/customers', asReader, { method: 'POST', body })),
    403,
  );
  assert.equal(await status(callConsole(till.url, '/api/v1/api-keys', asReader)), 403);
});

async function contentType(response: Promise<Response>): Promise<string> {
  return ((await response).headers.get('content-type') ?? '').split(';')[0] ?? '';
}

test('requests of other sites and pages are refused: no header, another origin, another content type', async (t) => {
  const till = await startTill({ in: 'process', for: t, hasConsole: true });
  const cookie = await openSession(till.url);
  const { port } = new URL(till.url);
  const customer = { method: 'POST', body: JSON.stringify({ email: 'mallory@example.com' }) };
  const send = (path: string, init: RequestInit) => status(fetch(`${till.url}/console${path}`, init));
  const own = { cookie, ...consoleHeaders };
  const wrong: readonly Readonly<Record<string, string>>[] = [
    { cookie, 'content-type': 'application/json' },
    { cookie, 'content-type': 'application/json', 'x-till-console': '2' },
    { ...own, 'content-type': 'text/plain' },
    { ...own, 'content-type': 'application/x-www-form-urlencoded' },
    { ...own, 'content-type': 'multipart/form-data' },
    { ...own, 'content-type': 'application/jsonp' },
    ...[
      'https://evil.example',
      'null',
      '',
      'http://localhost',
      `https://localhost:${port}`,
      'http://127.0.0.1:1',
    ].map((origin) => ({ ...own, 'content-type': 'application/json', origin })),
    // The name under which a request reached Till says nothing.
    {
      ...own,
      'content-type': 'application/json',
      origin: 'https://evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
    },
  ];
  for (const headers of wrong) {
    const label = JSON.stringify(headers);
    assert.equal(await send('/api/v1/customers', { ...customer, headers }), 403, label);
    assert.equal(
      await send('/session', { method: 'POST', body: JSON.stringify({ apiKey: testKey }), headers }),
      403,
    );
  }
  assert.equal(await send('/api/v1/payments', { headers: { cookie } }), 403, 'a read needs the header too');
  for (const path of ['/session', '/sessions'])
    assert.equal(await send(path, { method: 'DELETE', headers: { cookie } }), 403, path);
  assert.equal((await till.get<{ total: number }>('/customers')).total, 0);
  // No response allows another origin to send the header.
  const preflight = await fetch(`${till.url}/console/api/v1/customers`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-headers': 'x-till-console' },
  });
  assert.deepEqual(
    [...preflight.headers.keys()].filter((name) => name.startsWith('access-control')),
    [],
  );
  assert.ok(preflight.status >= 400);
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    assert.equal(
      await send('/api/v1/payments', { headers: { ...own, origin: `http://${host}:${port}` } }),
      200,
    );
});

test('with PUBLIC_URL only its origin counts, and the cookie has the prefix and is secure', async (t) => {
  const publicUrl = 'https://till.example.com';
  const till = await startTill({ in: 'process', for: t, console: { publicUrl } });
  const opened = await signIn(till.url, testKey, { origin: publicUrl });
  const [header = ''] = opened.headers.getSetCookie();
  assert.match(header, /^__Host-till=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  const cookie = cookieOf(opened);
  assert.equal(await status(callConsole(till.url, current, cookie, { headers: { origin: publicUrl } })), 200);
  const { port } = new URL(till.url);
  for (const origin of [
    `http://localhost:${port}`,
    'http://till.example.com',
    'https://till.example.com:8443',
  ])
    assert.equal(await status(callConsole(till.url, current, cookie, { headers: { origin } })), 403, origin);
  // The cookie without its prefix could be set by another host of the domain.
  assert.equal(await status(callConsole(till.url, current, cookie.replace('__Host-', ''))), 401);
  const local = await startTill({ in: 'process', on: till, hasConsole: true });
  const [plain = ''] = (await signIn(local.url, testKey)).headers.getSetCookie();
  assert.match(plain, /^till=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
});

test('a sign-in always opens a new session and ends the one before; the token is stored only as a digest', async (t) => {
  const till = await startTill({ in: 'process', for: t, hasConsole: true });
  const planted = `till=${'x'.repeat(43)}`;
  const first = cookieOf(await signIn(till.url, testKey, { cookie: planted }));
  assert.notEqual(first, planted);
  assert.equal(await status(callConsole(till.url, current, planted)), 401, 'a planted cookie is no session');
  const second = cookieOf(await signIn(till.url, testKey, { cookie: first }));
  assert.equal(await status(callConsole(till.url, current, first)), 401);
  assert.equal(await status(callConsole(till.url, current, second)), 200);
  for (const cookie of ['till=', 'till', `${second}; ${second}`, `till=${second.slice(6)}`, `${second}x`])
    assert.equal(await status(callConsole(till.url, current, cookie)), 401, cookie);
  const rows = await till.sql<{ row: string }>(
    'select console_sessions::text as row from till.console_sessions',
  );
  const token = second.slice('till='.length);
  for (const secret of [
    token,
    Buffer.from(token).toString('hex'),
    testKey,
    Buffer.from(testKey).toString('hex'),
  ])
    assert.ok(!rows.some(({ row }) => row.includes(secret)));
  assert.ok(!JSON.stringify(till.lines).includes(token));
});

test('signing out ends the session in every process, and "all sessions" those of the same key', async (t) => {
  const till = await startTill({ in: 'process', for: t, hasConsole: true });
  const other = await startTill({ in: 'process', on: till, hasConsole: true });
  const { key } = await till.post<{ key: string }>('/api-keys', { name: 'support', scopes: ['read'] });
  const [first, second, third] = [
    await openSession(till.url),
    await openSession(till.url),
    await openSession(other.url),
  ];
  const support = [await openSession(till.url, key), await openSession(other.url, key)];
  const end = (path: string, cookie: string) => callConsole(till.url, path, cookie, { method: 'DELETE' });
  const ended = await end('/session', first);
  assert.equal(ended.status, 204);
  assert.match(ended.headers.get('set-cookie') ?? '', /^till=; .*Max-Age=0/);
  assert.equal(await status(end('/session', first)), 204, 'a session that has ended is ended');
  assert.equal(await status(end('/sessions', first)), 401);
  assert.equal(await status(callConsole(other.url, current, first)), 401);
  for (const cookie of [second, third])
    assert.equal(await status(callConsole(other.url, current, cookie)), 200);
  assert.equal(await status(end('/sessions', second)), 204);
  for (const cookie of [second, third])
    assert.equal(await status(callConsole(other.url, current, cookie)), 401);
  for (const cookie of support) assert.equal(await status(callConsole(other.url, current, cookie)), 200);
});

test('a session ends with its API key: revoked, expired, or removed from the environment', async (t) => {
  const clock = movableClock();
  const till = await startTill({ in: 'process', for: t, hasConsole: true, clock });
  const { id, key } = await till.post<{ id: string; key: string }>('/api-keys', {
    name: 'a',
    scopes: ['read'],
  });
  const expiresAt = new Date(Date.now() + hourMs).toISOString();
  const timed = await till.post<{ key: string }>('/api-keys', { name: 'b', scopes: ['read'], expiresAt });
  const [revoked, expiring, environment] = [
    await openSession(till.url, key),
    await openSession(till.url, timed.key),
    await openSession(till.url),
  ];
  await till.call('DELETE', `/api-keys/${id}`);
  assert.equal(await status(callConsole(till.url, current, revoked)), 401);
  assert.equal(await status(callConsole(till.url, current, expiring)), 200);
  clock.addMs(hourMs + 1);
  assert.equal(await status(callConsole(till.url, current, expiring)), 401);
  assert.equal(await status(callConsole(till.url, current, environment)), 200);
  // As after SIGHUP with another file: a key of the same name does not keep the sessions of the one that it replaces.
  till.ring.replace([{ name: 'tests', application: 'tests', key: `${testKey}-new` }]);
  assert.equal(await status(callConsole(till.url, current, environment)), 401);
});

test('a session ends after its idle time and after its longest time, and neither waiting for events nor a load in the background is a use', async (t) => {
  const clock = movableClock();
  const till = await startTill({
    in: 'process',
    for: t,
    clock,
    console: { idleMinutes: 60, sessionHours: 3 },
  });
  const [busy, idle] = [await openSession(till.url), await openSession(till.url)];
  clock.addMs(0.75 * hourMs);
  assert.equal(await status(callConsole(till.url, current, busy)), 200);
  assert.equal(await status(callConsole(till.url, '/api/v1/events', idle)), 200);
  // A page that loads again by itself.
  const background = { headers: { 'x-till-background': '1' } };
  assert.equal(await status(callConsole(till.url, current, idle, background)), 200);
  clock.addMs(0.75 * hourMs);
  assert.equal(await status(callConsole(till.url, current, busy)), 200);
  assert.equal(await status(callConsole(till.url, current, idle)), 401);
  for (let use = 0; use < 2; use += 1) {
    clock.addMs(0.7 * hourMs);
    assert.equal(await status(callConsole(till.url, current, busy)), 200);
  }
  clock.addMs(0.2 * hourMs);
  assert.equal(await status(callConsole(till.url, current, busy)), 401);
});

test('a wrong key at the sign-in is refused with words about the sign-in', async (t) => {
  const till = await startTill({ in: 'process', for: t, hasConsole: true });
  const { detail } = await readProblem(await signIn(till.url, 'wrong'), 401, 'unauthorized');
  assert.equal(detail, 'The API key is not valid. Enter one that is.');
});

test('wrong keys at the sign-in count towards the limit of their address', async (t) => {
  const till = await startTill({ in: 'process', for: t, hasConsole: true });
  for (let guess = 0; guess < 60; guess += 1)
    assert.equal(await status(signIn(till.url, `wrong-${guess}`)), 401);
  assert.equal(await status(signIn(till.url, 'wrong')), 429);
  // A right one works at either door.
  assert.equal(await status(signIn(till.url, testKey)), 204);
  assert.equal((await till.call('GET', '/payments')).status, 200);
});

test('sign-ins count towards the rate limit of their API key', async (t) => {
  const till = await startTill({ in: 'process', for: t, hasConsole: true, requestsPerMinute: 2 });
  const statuses = [];
  for (let attempt = 0; attempt < 3; attempt += 1) statuses.push(await status(signIn(till.url, testKey)));
  assert.deepEqual(statuses, [204, 204, 429]);
});
