import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { testKey } from '../support/client.ts';
import { copyCluster } from '../support/cluster-template.ts';
import { startTill } from '../support/till.ts';

test('no API key, secret or personal data of any request is in a log, in the metrics or in the data folder', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-privacy-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  copyCluster(dataDir);
  const till = await startTill({
    in: 'child',
    environment: { DATA_DIR: dataDir, API_KEYS: `shop:${testKey}`, LOG_LEVEL: 'trace' },
  });
  t.after(() => till.stop());
  const hidden = {
    key: testKey,
    wrongKey: 'wrong-key-987654321',
    signature: 't=1,v1=feedfacefeedface',
    email: 'eve.private@example.test',
    phone: '+15550001234',
    secret: 'pi_1_secret_abcdef',
  };
  const body = JSON.stringify({ email: hidden.email, phone: hidden.phone, clientSecret: hidden.secret });
  const paths = [
    '/api/v1/customers',
    `/api/v1/customers/${hidden.email}`,
    `/${hidden.email}?phone=${hidden.phone}`,
    '/webhooks/processor',
  ];
  for (const key of [hidden.key, hidden.wrongKey]) {
    for (const path of paths) {
      for (const text of [body, `${body},`, `{"${hidden.email}":1}`]) {
        const headers = {
          'x-api-key': key,
          'stripe-signature': hidden.signature,
          'content-type': 'application/json',
        };
        const response = await fetch(`${till.url}${path}`, { method: 'POST', headers, body: text });
        assert.ok(response.status >= 400 && response.status < 500);
        await response.bytes();
      }
    }
  }
  const metrics = await (await fetch(`${till.url}/metrics`)).text();
  await till.stop();
  const kept = globSync('**', { cwd: dataDir })
    .map((path) => join(dataDir, path))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'));
  for (const [what, value] of Object.entries(hidden)) {
    assert.ok(!till.output().includes(value), `the ${what} is in the output`);
    assert.ok(!metrics.includes(value), `the ${what} is in the metrics`);
    assert.ok(!kept.some((text) => text.includes(value)), `the ${what} is in the data folder`);
  }
});
