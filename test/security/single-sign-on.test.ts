import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { readJson, testKey } from '../support/client.ts';
import { callConsole, cookieOf, signIn } from '../support/console-session.ts';
import { dumpTables } from '../support/dump-tables.ts';
import { startIdentityProvider } from '../support/identity-provider.ts';
import { startTill } from '../support/till.ts';

const publicUrl = 'http://localhost:4999';
const callback = `${publicUrl}/console/sign-in/callback`;
const current = '/api/v1/api-keys/current';

interface Entry {
  readonly actor: { readonly keyName: string | null; readonly person: string | null };
  readonly action: string;
  readonly outcome: number;
}

async function startBoth(t: TestContext, { showsClaims = false, hasKeySignIn = false } = {}) {
  const provider = await startIdentityProvider(t, { redirectUri: callback, showsClaims });
  const console = { publicUrl, hasKeySignIn, oidc: provider.settings };
  const till = await startTill({ in: 'process', for: t, console });
  /** Sends the browser to the provider. */
  const begin = async (to?: string, url = till.url) => {
    const query = to === undefined ? '' : `?to=${encodeURIComponent(to)}`;
    const response = await fetch(`${url}/console/sign-in${query}`, { redirect: 'manual' });
    assert.equal(response.status, 303, await response.text());
    return {
      cookie: cookieOf(response, 'till-sign-in'),
      url: response.headers.get('location') ?? '',
      response,
    };
  };
  /** What Till does when the browser returns from the provider. */
  const complete = (returned: string, cookie: string, url = till.url) =>
    fetch(returned.replace(publicUrl, url), { redirect: 'manual', headers: { cookie } });
  const enter = async (name: string, to?: string) => {
    const { cookie, url } = await begin(to);
    return complete(await provider.signIn(url, name), cookie);
  };
  return { till, provider, begin, complete, enter };
}

async function pageText(response: Response, status: number): Promise<string> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.match(response.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  assert.ok(!response.headers.getSetCookie().some((cookie) => /^(__Host-)?till=\w/.test(cookie)));
  return text;
}

test('a person signs in through the provider, with the scopes of their groups and a name of their own', async (t) => {
  const { till, provider, begin, complete, enter } = await startBoth(t);
  const { response, url, cookie } = await begin('/console/payments?status=failed');
  const asked = new URL(url).searchParams;
  assert.equal(asked.get('redirect_uri'), callback);
  assert.equal(asked.get('code_challenge_method'), 'S256');
  assert.equal(asked.get('scope'), 'openid email profile');
  for (const name of ['state', 'nonce', 'code_challenge'])
    assert.ok((asked.get(name) ?? '').length >= 43, name);
  assert.match(response.headers.get('set-cookie') ?? '', /; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
  const entered = await complete(await provider.signIn(url, 'ada'), cookie);
  assert.equal(entered.status, 303);
  assert.equal(entered.headers.get('location'), '/console/payments?status=failed');
  const ada = cookieOf(entered);
  const signIns = entered.headers.getSetCookie().filter((text) => text.startsWith('till-sign-in='));
  assert.match(signIns.join(), /^till-sign-in=; .*Max-Age=0$/);
  assert.partialDeepStrictEqual(await readJson(await callConsole(till.url, current, ada), 200), {
    id: null,
    name: 'console',
    scopes: ['admin'],
    person: { email: 'ada@example.com', name: 'Ada Lovelace' },
  });
  const grace = cookieOf(await enter('grace'));
  assert.partialDeepStrictEqual(await readJson(await callConsole(till.url, current, grace), 200), {
    scopes: ['read', 'refund'],
    person: { email: 'grace@example.com', name: null },
  });
  // What a person does has their address, and idempotency keys are their own.
  const create = async (cookie: string, email: string) => {
    const headers = { 'idempotency-key': 'same' };
    const init = { method: 'POST', body: JSON.stringify({ email }), headers };
    return callConsole(till.url, '/api/v1/customers', cookie, init);
  };
  const { id } = await readJson<{ id: string }>(await create(ada, 'one@example.com'), 201);
  assert.equal((await create(ada, 'two@example.com')).status, 422);
  assert.equal((await create(grace, 'two@example.com')).status, 403);
  assert.equal((await till.tryPost('/customers', { email: 'two@example.com' }, 'same')).status, 201);
  const { data } = await till.get<{ data: readonly { cause: object }[] }>(`/events?objectId=${id}`);
  assert.partialDeepStrictEqual(data[0]?.cause, {
    kind: 'api',
    keyName: 'console',
    person: 'ada@example.com',
  });
  const { data: entries } = await till.get<{ data: readonly Entry[] }>('/audit-log?actor=ada@example.com');
  assert.deepEqual(
    entries.map(({ action, outcome }) => [action, outcome]),
    [
      ['createCustomer', 422],
      ['createCustomer', 201],
      ['session.created', 303],
    ],
  );
  // No token or secret of the sign-in is stored or logged.
  assert.equal(provider.tokens.length, 2);
  const everywhere = (await dumpTables(till.databaseUrl)) + JSON.stringify(till.lines);
  for (const text of provider.tokens) {
    const { access_token: access, id_token: identity } = JSON.parse(text);
    for (const secret of [access, identity, identity.split('.')[2]]) assert.ok(!everywhere.includes(secret));
  }
  for (const secret of [
    cookie.split('=')[1],
    ada.split('=')[1],
    asked.get('state'),
    provider.settings.clientSecret,
  ])
    assert.ok(secret && !everywhere.includes(secret));
  // Ending all sessions ends those of this person alone.
  const second = cookieOf(await enter('ada'));
  assert.equal((await callConsole(till.url, '/sessions', second, { method: 'DELETE' })).status, 204);
  assert.equal((await callConsole(till.url, current, ada)).status, 401);
  assert.equal((await callConsole(till.url, current, grace)).status, 200);
  // The rate limit is each person's own.
  const console = { publicUrl, oidc: provider.settings };
  const limited = await startTill({ in: 'process', on: till, console, requestsPerMinute: 2 });
  const third = cookieOf(await enter('ada'));
  const statuses = [];
  for (const session of [grace, grace, grace, third])
    statuses.push((await callConsole(limited.url, current, session)).status);
  assert.deepEqual(statuses, [200, 200, 429, 200]);
});

test('people without a group or a verified address are refused with a page, and the log says so', async (t) => {
  const { till, enter } = await startBoth(t, { showsClaims: true });
  assert.match(await pageText(await enter('eve'), 403), /in no group/);
  assert.match(await pageText(await enter('unverified'), 403), /not verified/);
  assert.match(await pageText(await enter('nameless'), 403), /no e-mail address/);
  assert.match(await pageText(await enter('unknown'), 403), /did not confirm/);
  // With single sign-on, an API key opens no session unless the setting allows it.
  assert.equal((await signIn(till.url, testKey, { origin: publicUrl })).status, 403);
  const { data } = await till.get<{ data: readonly Entry[] }>('/audit-log?action=session.refused');
  assert.deepEqual(
    data.map(({ actor, outcome }) => [actor.person, outcome]),
    [
      [null, 403],
      [null, 403],
      [null, 403],
      ['new@example.com', 403],
      ['eve@example.com', 403],
    ],
  );
});

test('a callback works once, only in the browser that began, and only with its own state', async (t) => {
  const { till, provider, begin, complete, enter } = await startBoth(t, { hasKeySignIn: true });
  const other = await startTill({ in: 'process', on: till, console: { publicUrl, oidc: provider.settings } });
  const { cookie, url } = await begin();
  const returned = await provider.signIn(url, 'ada');
  // A stolen address, without the cookie or with that of another sign-in.
  await pageText(await complete(returned, ''), 400);
  const foreign = await begin();
  await pageText(await complete(returned, foreign.cookie), 403);
  for (const state of ['x'.repeat(43), undefined]) {
    const own = await begin();
    const genuine = await provider.signIn(own.url, 'ada');
    const forged = new URL(genuine);
    if (state === undefined) forged.searchParams.delete('state');
    else forged.searchParams.set('state', state);
    await pageText(await complete(forged.href, own.cookie), 403);
    // A cookie counts once, even if its callback failed.
    await pageText(await complete(genuine, own.cookie), 400);
  }
  const [name, value = ''] = cookie.split('=');
  for (const changed of [`${value}x`, `x${value}`, value.split('.')[0], `${value.split('.')[0]}.`, '', '.'])
    await pageText(await complete(returned, `${name}=${changed}`), 400);
  // Of several at once, in several processes, one succeeds. The provider sees its code once.
  const urls = [other.url, till.url, other.url, till.url];
  const responses = await Promise.all(urls.map((url) => complete(returned, cookie, url)));
  const [entered, ...late] = responses.toSorted((one, next) => one.status - next.status);
  assert.equal(entered?.status, 303);
  const session = cookieOf(entered);
  for (const response of late) await pageText(response, 400);
  assert.equal((await callConsole(till.url, current, session)).status, 200);
  await pageText(await complete(returned, cookie), 400);
  // Even a provider that accepts its code twice opens no second session: the cookie is used up.
  const again = await provider.signIn(url, 'ada');
  await pageText(await complete(again, cookie), 400);
  // A sign-in over an existing session replaces it: an attacker who knows the old cookie has nothing.
  const next = await begin();
  const replaced = await complete(await provider.signIn(next.url, 'grace'), `${next.cookie}; ${session}`);
  assert.notEqual(cookieOf(replaced), session);
  assert.equal((await callConsole(till.url, current, session)).status, 401);
  assert.equal((await callConsole(till.url, current, cookieOf(replaced))).status, 200);
  const { data: ended } = await till.get<{ data: readonly Entry[] }>('/audit-log?action=session.ended');
  assert.deepEqual(
    ended.map(({ actor, outcome }) => [actor.person, outcome]),
    [['ada@example.com', 303]],
  );
  // No target of a sign-in leads to another site.
  for (const to of ['//evil.example', 'https://evil.example', '/console/..//evil.example', '/\\evil.example'])
    assert.equal((await enter('ada', to)).headers.get('location'), '/console', to);
  assert.equal((await signIn(till.url, testKey, { origin: publicUrl })).status, 204);
});

test('a token that the provider no longer accepts is a refused sign-in, and not a provider that is down', async (t) => {
  const { till, provider, enter } = await startBoth(t);
  provider.revokeTokens();
  assert.match(await pageText(await enter('ada'), 403), /did not confirm/);
  const { data } = await till.get<{ data: readonly Entry[] }>('/audit-log?action=session.refused');
  assert.deepEqual(
    data.map(({ outcome }) => outcome),
    [403],
  );
});

test('claims that cannot be stored are shortened or refused', async (t) => {
  const { till, enter } = await startBoth(t, { showsClaims: true });
  const odd = cookieOf(await enter('odd'));
  const shown = await readJson<{ person: { name: string } }>(await callConsole(till.url, current, odd), 200);
  assert.equal(shown.person.name, `Odd${'x'.repeat(253)}`);
  assert.match(await pageText(await enter('unstorable'), 403), /no e-mail address/);
  assert.match(await pageText(await enter('sub\u0000ject'), 403), /did not confirm/);
});

test('a provider that is down or does not respond gives a page in time, and open sessions continue', async (t) => {
  const { till, provider, begin, complete, enter } = await startBoth(t);
  const session = cookieOf(await enter('ada'));
  const { cookie, url } = await begin();
  const returned = await provider.signIn(url, 'ada');
  provider.hang();
  assert.match(await pageText(await complete(returned, cookie), 503), /does not respond/);
  assert.equal((await callConsole(till.url, current, session)).status, 200);
  const oidc = { ...provider.settings, issuer: new URL('http://127.0.0.1:1') };
  const cut = await startTill({ in: 'process', on: till, console: { publicUrl, oidc } });
  const response = await fetch(`${cut.url}/console/sign-in`, { redirect: 'manual' });
  assert.match(await pageText(response, 503), /does not respond/);
  assert.equal(response.headers.get('retry-after'), '60');
});

test('a session ends when its way of signing in is no longer offered', async (t) => {
  const { till, provider, enter } = await startBoth(t, { hasKeySignIn: true });
  const person = cookieOf(await enter('ada'));
  const ofKey = cookieOf(await signIn(till.url, testKey, { origin: publicUrl }));
  const statuses = async (console: object) => {
    const other = await startTill({ in: 'process', on: till, console: { publicUrl, ...console } });
    const responses = [person, ofKey].map((cookie) => callConsole(other.url, current, cookie));
    return (await Promise.all(responses)).map(({ status }) => status);
  };
  const oidc = provider.settings;
  assert.deepEqual(await statuses({ oidc, hasKeySignIn: true }), [200, 200]);
  assert.deepEqual(await statuses({ oidc, hasKeySignIn: false }), [200, 401]);
  assert.deepEqual(await statuses({ hasKeySignIn: true }), [401, 200]);
  const moved = { ...oidc, issuer: new URL('https://other.example.com') };
  assert.deepEqual(await statuses({ oidc: moved, hasKeySignIn: true }), [401, 200]);
});

test('after too many refused sign-ins from an address, the provider is not called again', async (t) => {
  const { till, provider, begin, complete } = await startBoth(t);
  const { cookie, url } = await begin();
  const returned = await provider.signIn(url, 'ada');
  const guesses = Array.from({ length: 61 }, () =>
    till.call('GET', '/plans', undefined, { 'x-api-key': 'wrong' }),
  );
  const statuses = (await Promise.all(guesses)).map(({ status }) => status);
  assert.ok(statuses.includes(429));
  // A provider that is called would not respond.
  provider.hang();
  const page = await complete(returned, cookie);
  assert.match(await pageText(page, 429), /Too many sign-ins/);
  assert.equal(page.headers.get('retry-after'), '60');
});

test('a person without the scope reads about groups, and not about API keys', async (t) => {
  const { till, enter } = await startBoth(t);
  const grace = cookieOf(await enter('grace'));
  const refused = await callConsole(till.url, '/api/v1/audit-log', grace);
  assert.equal(refused.status, 403);
  const { detail } = (await refused.json()) as { readonly detail: string };
  assert.match(detail, /scope `admin`, which none of your groups has/);
});
