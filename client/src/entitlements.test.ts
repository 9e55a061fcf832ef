import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Till } from './till.ts';

interface Sent {
  readonly path: string;
  readonly known: string | null;
}

/** A service whose response has the customer's id as its tag. */
function start() {
  const sent: Sent[] = [];
  const till = new Till({
    url: 'http://till.example.com',
    apiKey: 'key',
    fetch: async (input, init) => {
      const { pathname, search } = new URL(String(input));
      const known = new Headers(init?.headers).get('if-none-match');
      sent.push({ path: `${pathname}${search}`, known });
      const etag = `"${search || pathname}"`;
      if (known === etag) return new Response(null, { status: 304, headers: { etag } });
      return Response.json({ entitled: true, features: { seats: 3 } }, { headers: { etag } });
    },
  });
  return { till, sent };
}

test('the second request for a customer sends the tag of the first response, by either id', async () => {
  const { till, sent } = start();
  for (let times = 0; times < 2; times += 1) {
    assert.equal(await till.isEntitled({ externalId: 'a' }, 'seats'), true);
    assert.equal(await till.isEntitled({ customerId: 'a' }, 'reports'), false);
  }
  const [byOwnId, byId] = ['/api/v1/entitlements?externalId=a', '/api/v1/customers/a/entitlements'];
  assert.deepEqual(sent, [
    { path: byOwnId, known: null },
    { path: byId, known: null },
    { path: byOwnId, known: '"?externalId=a"' },
    { path: byId, known: `"${byId}"` },
  ]);
});

test('only the responses for the 1,000 most recent customers are kept', async () => {
  const { till, sent } = start();
  const ask = (externalId: string) => till.entitlements({ externalId });
  await ask('old');
  await ask('used');
  for (let count = 0; count < 998; count += 1) await ask(`customer-${count}`);
  await ask('used');
  await ask('one more');
  await ask('used');
  await ask('old');
  const known = sent
    .filter(({ path }) => path.endsWith('=used') || path.endsWith('=old'))
    .map((one) => one.known);
  assert.deepEqual(known, [null, null, '"?externalId=used"', '"?externalId=used"', null]);
});
