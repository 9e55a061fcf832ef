import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DatabaseFacts } from '#core/platform/inspect-database.ts';
import { stateOf } from '#processor/endpoint/endpoint-state.ts';
import type { WebhookEndpoint } from '#processor/port/webhook-endpoint-calls.ts';
import { inspectConfig } from '#runtime/composition/config.ts';
import type { Finding } from './finding.ts';
import {
  judgeBackfills,
  judgeDatabase,
  judgePooler,
  judgeRedis,
  judgeReplica,
  judgeSecrets,
} from './judge-database.ts';
import { judgeAccount, judgeClock, judgeDeliveries, judgeEndpoints } from './judge-processor.ts';
import { judgeSettings } from './judge-settings.ts';

const states = (findings: readonly Finding[]) => findings.map(({ state }) => state);
const only = (findings: readonly Finding[]) => findings.filter(({ state }) => state !== 'ok');

/** Exactly one finding is not ok. It has this state and text, and says how to fix it. */
function assertOne(findings: readonly Finding[], state: Finding['state'], text: RegExp, fix: RegExp): void {
  assert.deepEqual(states(only(findings)), [state], JSON.stringify(findings));
  const [finding] = only(findings);
  assert.match(finding?.text ?? '', text);
  assert.match(finding?.fix ?? '', fix);
}

describe('the database', () => {
  const facts: DatabaseFacts = {
    version: '16.4',
    versionNumber: 160_004,
    isStandby: false,
    role: 'till',
    isSuperuser: false,
    mayMigrate: true,
    closedTables: [],
    schema: { missing: [], newer: [], changed: [] },
  };
  const judge = (change: Partial<DatabaseFacts>) => judgeDatabase({ ...facts, ...change }, 'db');
  const schema = (change: Partial<DatabaseFacts['schema']>) => ({ schema: { ...facts.schema, ...change } });

  test('is judged by version, role, rights and schema', () => {
    assert.deepEqual(states(judge({})), ['ok', 'ok', 'ok']);
    assert.deepEqual(states(judge({ mayMigrate: false })), ['ok', 'ok', 'ok']);
    assertOne(judge({ versionNumber: 140_010, version: '14.10' }), 'problem', /14\.10/, /15 or newer/);
    assertOne(judge({ isStandby: true }), 'problem', /standby/, /primary/);
    assertOne(judge({ isSuperuser: true }), 'warning', /superuser/, /security\.md/);
    assertOne(judge({ closedTables: ['plans'] }), 'problem', /plans/, /grants/);
    assertOne(judge(schema({ missing: ['0027_x.sql'] })), 'warning', /lacks 1/, /till migrate/);
    const forbidden = { ...schema({ missing: ['0027_x.sql'] }), mayMigrate: false };
    assertOne(judge(forbidden), 'problem', /may not apply/, /role that owns/);
    assertOne(judge(schema({ newer: ['0099_x.sql'] })), 'warning', /newer/, /newest release/);
    assertOne(judge(schema({ changed: ['0001_x.sql'] })), 'problem', /changed/, /Restore/);
  });

  test('is judged by the secrets that are not encrypted with the first key, and those that no key decrypts', () => {
    const none = { readable: 0, outdated: 0, unreadable: 0 };
    assert.deepEqual(judgeSecrets(none, false), []);
    assert.deepEqual(judgeSecrets({ ...none, readable: 2 }, false), []);
    assert.deepEqual(judgeSecrets(none, true), []);
    assert.deepEqual(states(judgeSecrets({ ...none, readable: 2 }, true)), ['ok']);
    assertOne(
      judgeSecrets({ ...none, readable: 9, outdated: 7 }, true),
      'warning',
      /yet: 7\.$/,
      /background/,
    );
    assertOne(judgeSecrets({ ...none, unreadable: 3 }, false), 'problem', /decrypts: 3\.$/, /Add the key/);
  });

  test('is judged by the rows that an upgrade left incomplete', () => {
    const running = {
      resource: 'invoice',
      round: 1,
      cursor: 'in_1',
      compared: 500,
      changed: 7,
      skipped: 0,
    } as const;
    const judge = (values: object, olderProcesses = 0) =>
      judgeBackfills({ backfills: [{ ...running, endedAt: null, ...values }], olderProcesses });
    assert.deepEqual(judgeBackfills({ backfills: [], olderProcesses: 3 }), []);
    assertOne(judge({}), 'warning', /invoice lack fields .* 500 objects compared, 7 rows/, /background/);
    assertOne(judge({}, 2), 'warning', /invoice lack fields/, /Stop the processes .* still run \(2\)/);
    const endedAt = new Date();
    assert.deepEqual(states(judge({ endedAt }, 2)), ['ok']);
    assertOne(judge({ endedAt, skipped: 1 }), 'warning', /1 objects could not/, /resync --all/);
  });

  test('is judged by its pooler, and the cache by its version', () => {
    assert.deepEqual(states(judgePooler({ mode: 'none' })), ['ok']);
    const mistake = 'DATABASE_URL leads to a pooler; set DATABASE_DIRECT_URL to PostgreSQL itself.';
    assertOne(
      judgePooler({ mode: 'transaction', mistake }),
      'problem',
      /leads to a pooler\.$/,
      /^Set DATABASE_/,
    );
    assert.deepEqual(states(judgeRedis({ name: 'Valkey', version: '8.0.1', isReplica: false }, 'r')), ['ok']);
    const redis = { name: 'Redis', version: '7.2.4', isReplica: false } as const;
    assert.deepEqual(states(judgeRedis(redis, 'r')), ['ok']);
    assertOne(judgeRedis({ ...redis, version: '6.2.1' }, 'r'), 'problem', /too old/, /Redis 7/);
    assertOne(judgeRedis({ ...redis, isReplica: true }, 'r'), 'problem', /replica/, /primary/);
  });

  test('is judged by its replica', () => {
    const replica = { isStandby: true, isOfPrimary: true, missingBytes: 4_096 };
    assert.deepEqual(states(judgeReplica(replica, 'r')), ['ok']);
    const judged = (facts: Partial<typeof replica>) => judgeReplica({ ...replica, ...facts }, 'r');
    assertOne(judged({ isStandby: false }), 'problem', /not a standby/, /DATABASE_REPLICA_URL/);
    assertOne(judged({ isOfPrimary: false }), 'problem', /lacks what the primary wrote/, /rebuilt/);
    assertOne(judged({ missingBytes: 2 ** 30 }), 'warning', /1024 MB/, /replica_lag_seconds/);
  });
});

describe('the processor', () => {
  test('is judged by its clock and its account', () => {
    assert.deepEqual(states(judgeClock(400)), ['ok']);
    assert.deepEqual(states(judgeClock(null)), ['ok']);
    assertOne(judgeClock(-30_000), 'warning', /30 seconds behind/, /NTP/);
    assertOne(judgeClock(150_000), 'problem', /150 seconds ahead/, /NTP/);
    // A sandbox whose clock was moved by a day, on this machine and on one whose own clock is wrong.
    const moved = judgeClock(-86_400_000, 86_400);
    assert.deepEqual(states(moved), ['ok', 'ok']);
    assert.match(moved[0]?.text ?? '', /clock of the sandbox was moved by 86400 seconds/);
    assertOne(judgeClock(-86_430_000, 86_400), 'warning', /30 seconds behind/, /NTP/);
    const account = { id: 'acct_1', livemode: false };
    assert.deepEqual(states(judgeAccount(account, undefined)), ['ok']);
    assert.deepEqual(states(judgeAccount(account, account)), ['ok']);
    assertOne(judgeAccount({ ...account, id: null }, account), 'warning', /may not read/, /permission/);
    const other = judgeAccount({ ...account, livemode: true }, account);
    assertOne(other, 'problem', /^This database belongs to .*live mode\.$/, /adopt-account/);
  });

  const url = 'https://a.example.com/webhooks/processor';
  const eventTypes = ['payment_intent.succeeded', 'customer.updated'];
  const processor = {
    eventTypes: new Set(eventTypes),
    understands: (version: string | null) => version === 'v1',
    webhookEndpoints: { apiVersion: 'v2' },
  };
  const endpoint: WebhookEndpoint = {
    id: 'we_1',
    url,
    isEnabled: true,
    events: eventTypes,
    apiVersion: 'v2',
    createdAt: new Date(0),
    setupKey: null,
    replaces: null,
    isSecretTaken: false,
  };
  const judge = (endpoints: readonly Partial<WebhookEndpoint>[], wanted?: string) =>
    judgeEndpoints(
      endpoints.map((change) => ({ ...endpoint, ...change })),
      wanted,
      (one) => stateOf(one, processor),
    );

  test('must have one endpoint, enabled, with all events and a known version', () => {
    assert.deepEqual(states(judge([{}])), ['ok']);
    assert.deepEqual(states(judge([{ apiVersion: 'v1' }], url)), ['ok']);
    assertOne(
      judge([{ url: 'https://a.example.com/other' }]),
      'problem',
      /no webhook endpoint/,
      /setup --url https:\/\/YOUR-HOST/,
    );
    assertOne(
      judge([{}], 'https://b.example.com/x'),
      'problem',
      /no webhook endpoint/,
      /setup --url https:\/\/b\./,
    );
    assertOne(judge([{ isEnabled: false }]), 'problem', /disabled/, /webhooks setup/);
    assertOne(
      judge([{ events: eventTypes.slice(1) }]),
      'problem',
      /lacks the events payment_intent/,
      /webhooks setup/,
    );
    assertOne(judge([{ events: ['*'] }]), 'warning', /does not apply: \*/, /webhooks setup/);
    assertOne(judge([{ apiVersion: null }]), 'warning', /no API version/, /--replace/);
    assertOne(judge([{ apiVersion: 'v9' }]), 'problem', /API version v9/, /--replace/);
    assertOne(judge([{}, { id: 'we_2' }]), 'problem', /we_2/, /Delete/);
    assertOne(
      judge([{}, { id: 'we_2', replaces: 'we_1', setupKey: 'k' }]),
      'problem',
      /we_1/,
      /webhooks setup/,
    );
    const elsewhere = { id: 'we_2', url: 'https://b.example.com/webhooks/processor' };
    assertOne(judge([{}, elsewhere]), 'warning', /several addresses/, /--url/);
    assert.deepEqual(states(judge([{}, elsewhere], url)), ['ok']);
  });

  test('must deliver its events: the secret itself cannot be read back', () => {
    const fine = { undelivered: 0, hasOtherEndpoints: false, lastReceivedAt: new Date(0) };
    assert.deepEqual(states(judgeDeliveries(fine)), ['ok']);
    assert.deepEqual(states(judgeDeliveries({ ...fine, lastReceivedAt: undefined })), ['ok']);
    assertOne(judgeDeliveries({ ...fine, lastReceivedAt: null }), 'warning', /not tested/, /change/);
    assertOne(
      judgeDeliveries({ ...fine, undelivered: 3 }),
      'problem',
      /^3 events/,
      /PROCESSOR_WEBHOOK_SECRET/,
    );
    const shared = judgeDeliveries({ ...fine, undelivered: 100, hasOtherEndpoints: true });
    assertOne(shared, 'warning', /^100 or more/, /log/);
  });
});

test('every mistake in the settings is a problem, a doubtful setting is a warning, and neither shows a secret', () => {
  const judge = (environment: Record<string, string>) => judgeSettings(inspectConfig(environment, '/'), []);
  assert.deepEqual(states(judge({})), ['ok']);
  const processor = { PROCESSOR_SECRET_KEY: 'sk_test_x1', PROCESSOR_WEBHOOK_SECRET: 'whsec_x2' };
  assert.deepEqual(states(judge(processor)), ['ok']);
  assertOne(judge({ API_KEY: 'short-x3' }), 'warning', /hidden, 8 characters/, /keys create/);
  assertOne(
    judge({ ...processor, PROCESSOR_WEBHOOK_SECRET: 'we_x4' }),
    'warning',
    /whsec_/,
    /signing secret/,
  );
  assertOne(
    judge({ PROCESSOR_SECRET_KEY: 'sk_test_x1' }),
    'problem',
    /PROCESSOR_WEBHOOK_SECRET/,
    /webhooks setup/,
  );
  const several = judge({ PORT: 'x', LOG_LEVEL: 'loud', API_KEY: 'short-x3', PROCESSOR_SECRET_KEY: 'x5' });
  assert.deepEqual(states(several), ['problem', 'problem', 'problem', 'warning']);
  const production = judge({
    ...processor,
    NODE_ENV: 'production',
    API_KEY: 'a-long-key-of-many-characters-x6',
    DATABASE_URL: 'postgres://till:x7@db/till',
    REDIS_URL: 'memory://',
    PUBLIC_URL: 'https://till.example.com',
    EVENT_ENDPOINTS_ALLOW_PRIVATE: 'true',
  });
  assert.deepEqual(states(production), ['warning', 'warning']);
  assert.doesNotMatch(JSON.stringify([several, production]), /x[1-7]/);
});
