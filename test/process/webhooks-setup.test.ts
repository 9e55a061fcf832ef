import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Stripe } from 'stripe';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { eventTypes } from '../../src/processor/stripe/events/event-types.ts';
import { connectProcessor } from '../support/backend.ts';
import { runTill } from '../support/run-till.ts';

const url = 'https://billing.example.com/webhooks/processor';
const version = Stripe.API_VERSION;

async function useProcessor(t: TestContext) {
  const sandbox = await startSandbox({ port: 0 });
  t.after(() => sandbox.close());
  const { stripe, setFault } = connectProcessor(sandbox.url);
  // No PROCESSOR_WEBHOOK_SECRET: this command is how one gets it.
  const environment = { PROCESSOR_SECRET_KEY: 'sk_test_setup', PROCESSOR_API_BASE: sandbox.url };
  return {
    stripe,
    setFault,
    setup: (...args: readonly string[]) => runTill(environment, 'webhooks', 'setup', `--url=${url}`, ...args),
    list: async () => (await stripe.webhookEndpoints.list()).data,
    /** One that a person created, with too few events. */
    byHand: (more: Partial<Stripe.WebhookEndpointCreateParams> = {}) =>
      stripe.webhookEndpoints.create({ url, enabled_events: ['charge.failed', 'coupon.created'], ...more }),
  };
}

/** Every retry of a call meets the fault. */
const attemptsOfCall = 3;

test('the endpoint is created with the events and the version, its secret is shown once, and a repeat changes nothing', async (t) => {
  const { setup, list } = await useProcessor(t);
  const planned = await setup('--dry-run', '--json');
  assert.deepEqual(await list(), []);
  const { action, wanted } = JSON.parse(planned.stdout);
  assert.deepEqual([action, wanted], ['created', { events: [...eventTypes], apiVersion: version }]);
  const first = await setup();
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /^whsec_\w+\n$/);
  const [endpoint] = await list();
  assert.deepEqual(
    [endpoint?.url, endpoint?.api_version, endpoint?.enabled_events, endpoint?.status],
    [url, version, [...eventTypes], 'enabled'],
  );
  const again = await setup();
  assert.deepEqual(again, {
    code: 0,
    stdout: 'The endpoint is enabled and has the right events.\n',
    stderr: '',
  });
  assert.equal((await list()).length, 1);
});

test('runs at the same time create one endpoint, and only one of them shows the secret', async (t) => {
  const { setup, list } = await useProcessor(t);
  const runs = await Promise.all(Array.from({ length: 5 }, () => setup('--json')));
  assert.equal((await list()).length, 1);
  const secrets = runs.map(({ stdout }) => JSON.parse(stdout).secret).filter((secret) => secret !== null);
  assert.equal(secrets.length, 1);
});

test('an endpoint that a person created is enabled and gets the right events; its version needs --replace', async (t) => {
  const { setup, list, byHand, stripe } = await useProcessor(t);
  const { id } = await byHand();
  await stripe.webhookEndpoints.update(id, { disabled: true });
  const { code, stdout, stderr } = await setup();
  assert.equal(code, 1);
  assert.match(stdout, /^Corrected the endpoint/);
  assert.match(stderr, /no API version of its own.*--replace/);
  const [corrected] = await list();
  assert.deepEqual(
    [corrected?.id, corrected?.status, corrected?.enabled_events],
    [id, 'enabled', [...eventTypes]],
  );
  const replaced = await setup('--replace');
  assert.equal(replaced.code, 0, replaced.stderr);
  assert.match(replaced.stdout, /^whsec_\w+\n$/);
  assert.match(replaced.stderr, new RegExp(`Deleted the endpoint ${id}`));
  const after = await list();
  assert.deepEqual(
    after.map(({ api_version }) => api_version),
    [version],
  );
});

test('an older version that Till knows is kept', async (t) => {
  const { setup, byHand } = await useProcessor(t);
  await byHand({ api_version: '2024-06-20', enabled_events: [...eventTypes] });
  const { code, stderr } = await setup();
  assert.deepEqual([code, stderr], [0, '']);
});

test('a run that was interrupted after the creation is completed by the next one, which shows the secret', async (t) => {
  const { setup, list, setFault } = await useProcessor(t);
  // Its first response is lost as well: the retry gets it from the processor.
  await setFault({ operation: 'webhook_endpoints.create', kind: 'reset_after', times: 1 });
  await setFault({ operation: 'webhook_endpoints.update', kind: 'reset_before', times: attemptsOfCall });
  const interrupted = await setup();
  assert.deepEqual([interrupted.code, interrupted.stdout], [1, '']);
  assert.equal((await list()).length, 1);
  const { code, stdout } = await setup();
  assert.equal(code, 0);
  assert.match(stdout, /^whsec_\w+\n$/);
  assert.equal((await list()).length, 1);
  assert.doesNotMatch((await setup()).stdout, /whsec_/);
});

test('a replacement that was interrupted is completed, not repeated', async (t) => {
  const { setup, list, setFault } = await useProcessor(t);
  await setup();
  const [old] = await list();
  await setFault({ operation: 'webhook_endpoints.delete', kind: 'reset_before', times: attemptsOfCall });
  const interrupted = await setup('--replace');
  assert.equal(interrupted.code, 1);
  assert.match(interrupted.stdout, /^whsec_\w+\n$/, 'the secret is shown before the old endpoint goes');
  assert.equal((await list()).length, 2);
  const completed = await setup('--replace');
  assert.equal(completed.code, 0);
  assert.doesNotMatch(completed.stdout, /whsec_/);
  const left = await list();
  assert.equal(left.length, 1);
  assert.notEqual(left[0]?.id, old?.id);
});

test('an endpoint that was deleted at the processor is created again, with a secret of its own', async (t) => {
  const { setup, list, stripe } = await useProcessor(t);
  const first = await setup();
  for (const { id } of await list()) await stripe.webhookEndpoints.del(id);
  const second = await setup();
  assert.match(second.stdout, /^whsec_\w+\n$/);
  assert.notEqual(second.stdout, first.stdout);
  assert.equal((await list()).length, 1);
});

test('a second endpoint of a person is named, and stays', async (t) => {
  const { setup, list, byHand } = await useProcessor(t);
  const created = [await byHand({ api_version: version }), await byHand({ api_version: version })];
  const { code, stderr } = await setup();
  assert.equal(code, 1);
  // The older one is kept. Here both may be of the same second.
  const [, named] = /^The endpoint (\S+) has the same address/.exec(stderr) ?? [];
  assert.ok(
    created.some(({ id }) => id === named),
    stderr,
  );
  assert.equal((await list()).length, 2);
});

test('a wrong address is refused before anything is called', async () => {
  for (const [wrong, message] of [
    ['billing.example.com', /--url must be an address/],
    ['ftp://billing.example.com/x', /--url must be an address/],
    ['https://billing.example.com', /--url must contain the path: https:\/\/billing\.example\.com\/webhooks/],
    ['https://user:pass@billing.example.com/x', /no user name/],
    ['https://billing.example.com/webhooks/processor/', /--url must not end with a slash/],
  ] as const) {
    for (const command of [['webhooks', 'setup'], ['doctor']]) {
      const { code, stderr } = await runTill({}, ...command, '--url', wrong);
      assert.equal(code, 2, wrong);
      assert.match(stderr, message);
    }
  }
});
