import assert from 'node:assert/strict';
import { get } from 'node:http';
import { test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import { startWholeTill } from '../support/whole-till.ts';
import { sharedTill } from './support/browser-test.ts';

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** The limit for a first visit over a mobile network. */
const bytesMax = 70_000;

/** As it is on the wire: fetch would hide the compression. */
function read(url: string, headers: Readonly<Record<string, string>> = {}) {
  return new Promise<{ readonly status: number; readonly headers: object; readonly body: Buffer }>(
    (resolve, reject) => {
      get(url, { headers }, (response) => {
        response.toArray().then((chunks) => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
          });
        }, reject);
      }).on('error', reject);
    },
  );
}

test('every address of the console is the same page under a strict policy, and needs no key', async () => {
  const { url } = await sharedTill();
  for (const path of ['/console', '/console/payments', '/console/payments/no-such-payment']) {
    const response = await fetch(url + path);
    const html = await response.text();
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(response.headers.get('content-security-policy'), policy);
    assert.equal(response.headers.get('x-frame-options'), 'DENY');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
    assert.equal(response.headers.get('cross-origin-opener-policy'), 'same-origin');
    assert.equal(response.headers.get('set-cookie'), null);
    assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:/, 'nothing is inline');
  }
});

test('files are compressed, and sent again only after a change', async () => {
  const { url } = await sharedTill();
  for (const name of ['console.js', 'console.css', 'icon.svg', 'licences.txt']) {
    const address = `${url}/console/assets/${name}`;
    const plain = await read(address);
    const { etag } = plain.headers as { readonly etag: string };
    assert.equal(Object(plain.headers)['cache-control'], 'no-cache');
    assert.equal(Object(plain.headers)['content-encoding'], undefined);
    const same = await read(address, { 'if-none-match': etag });
    assert.deepEqual([same.status, same.body.length], [304, 0]);
    assert.equal((await read(address, { 'if-none-match': '"old"' })).status, 200);
    for (const [accepted, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
    ] as const) {
      const smaller = await read(address, { 'accept-encoding': accepted });
      assert.equal(Object(smaller.headers)['content-encoding'], encoding);
      assert.equal(Object(smaller.headers)['vary'], 'accept-encoding');
      if (name.startsWith('console')) assert.ok(smaller.body.length < plain.body.length / 2, name);
      const decoded = await fetch(address, { headers: { 'accept-encoding': accepted } });
      assert.deepEqual(Buffer.from(await decoded.arrayBuffer()), plain.body);
    }
  }
});

test('the script and the styles of the console are 70 kB on the wire at most', async () => {
  const { url } = await sharedTill();
  const sizes = await Promise.all(
    ['console.js', 'console.css'].map(async (name) => {
      const { body } = await read(`${url}/console/assets/${name}`, { 'accept-encoding': 'br' });
      return body.length;
    }),
  );
  const sum = sizes.reduce((total, size) => total + size, 0);
  assert.ok(sum <= bytesMax, `${sum} bytes`);
});

test('the requests with which a tab checks its connection are not logged', async () => {
  const { url, lines } = await sharedTill();
  assert.equal((await fetch(`${url}/console/pulse`)).status, 204);
  // A request is logged when the next one gets its response.
  for (let count = 0; count < 2; count += 1) await (await fetch(`${url}/console/assets/icon.svg`)).text();
  const routes = lines.map(({ route }) => route);
  assert.ok(routes.includes('/console/assets/icon.svg'));
  assert.ok(!routes.includes('/console/pulse'));
});

test('CONSOLE=off: there is no console, and the API works', async (t) => {
  const backend = await startBackend(t);
  const till = await startWholeTill({ ...backendEnvironment(backend), CONSOLE: 'off' });
  t.after(() => till.stop());
  for (const path of ['/console', '/console/payments', '/console/assets/console.js'])
    assert.equal((await fetch(till.url + path)).status, 404, path);
  assert.equal((await till.call('GET', '/payments')).status, 200);
});
