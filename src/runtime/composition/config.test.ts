import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { ConfigError, loadConfig } from './config.ts';

function mistakesOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment, '/srv/till');
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

const production = {
  NODE_ENV: 'production',
  API_KEYS: 'shop:0123456789abcdef01234567',
  DATABASE_URL: 'postgres://till:hunter2@db/till',
  REDIS_URL: 'memory://',
  PROCESSOR_SECRET_KEY: 'sk_live_abc',
  PROCESSOR_WEBHOOK_SECRET: 'whsec_abc',
  PUBLIC_URL: 'https://till.example.com',
};

test('an empty environment gives the documented defaults', () => {
  assert.deepEqual(loadConfig({}, '/srv/till'), {
    production: false,
    role: 'all',
    processes: undefined,
    host: '127.0.0.1',
    port: 3000,
    apiKeys: [],
    apiKeysFile: undefined,
    databaseUrl: undefined,
    databaseDirectUrl: undefined,
    databasePoolSize: 10,
    databaseReplicaUrl: undefined,
    replicaLagSecondsMax: 5,
    redisUrl: undefined,
    dataDir: '/srv/till/.till',
    processor: {
      secretKey: undefined,
      apiBase: undefined,
      webhookSecrets: [],
      maxInFlight: 200,
      requestsPerSecond: undefined,
      sandboxPort: 3001,
      sandboxHosts: [],
    },
    logLevel: 'info',
    logFormat: undefined,
    rateLimitPerMinute: 6000,
    usageRateLimitPerMinute: 60_000,
    trustProxy: [],
    webhookRetentionDays: 90,
    usageRetentionDays: 90,
    entitlementGraceDays: 0,
    events: { retentionDays: 90, allowPrivate: false, allowLoopback: true, secretKeys: [] },
    overviewTimeZone: 'UTC',
    returnUrlOrigins: [],
    hasConsole: true,
    telemetry: undefined,
    console: {
      publicUrl: undefined,
      idleMinutes: 480,
      sessionHours: 168,
      hasKeySignIn: true,
      oidc: undefined,
    },
    stopDelaySeconds: 0,
  });
});

test('every setting is read from its variable', () => {
  const config = loadConfig(
    {
      ...production,
      ROLE: 'api',
      HOST: '0.0.0.0',
      PORT: '8080',
      API_KEY: 'lonely-0123456789abcdef0',
      API_KEYS_FILE: 'keys.txt',
      DATABASE_POOL_SIZE: '5',
      REDIS_URL: 'rediss://cache:6380/1',
      DATA_DIR: 'data',
      PROCESSOR_WEBHOOK_SECRET: 'whsec_new, whsec_old',
      PROCESSOR_API_BASE: 'http://127.0.0.1:12111',
      RETURN_URL_ORIGINS: 'https://Shop.example.com/, http://127.0.0.1:8080',
      PROCESSOR_MAX_IN_FLIGHT: '7',
      PROCESSOR_REQUESTS_PER_SECOND: '200',
      LOG_LEVEL: 'warn',
      RATE_LIMIT_PER_MINUTE: '0',
      TRUST_PROXY: '10.0.0.0/8, ::1, loopback',
      WEBHOOK_RETENTION_DAYS: '35',
      EVENT_RETENTION_DAYS: '7',
      ENTITLEMENT_GRACE_DAYS: '7',
      OVERVIEW_TIME_ZONE: 'America/New_York',
      CONSOLE_SESSION_IDLE_MINUTES: '30',
      CONSOLE_SESSION_HOURS: '8',
      OIDC_ISSUER: 'https://login.example.com/company',
      OIDC_CLIENT_ID: 'till',
      OIDC_CLIENT_SECRET: 'hidden',
      OIDC_SCOPES: 'openid email',
      OIDC_GROUPS_CLAIM: 'roles',
      OIDC_ROLES: '{"support":["read","refund"],"admins":["admin"]}',
    },
    '/srv/till',
  );
  assert.equal(config.role, 'api');
  assert.deepEqual(config.apiKeys, [
    { name: 'shop', application: 'shop', key: '0123456789abcdef01234567' },
    { name: 'API_KEY[1]', application: '', key: 'lonely-0123456789abcdef0' },
  ]);
  assert.equal(config.apiKeysFile, '/srv/till/keys.txt');
  assert.equal(config.redisUrl, 'rediss://cache:6380/1');
  assert.equal(config.dataDir, '/srv/till/data');
  assert.deepEqual(config.processor.webhookSecrets, ['whsec_new', 'whsec_old']);
  assert.equal(config.processor.apiBase, 'http://127.0.0.1:12111');
  assert.equal(config.processor.requestsPerSecond, 200);
  assert.deepEqual(config.trustProxy, ['10.0.0.0/8', '::1', 'loopback']);
  assert.deepEqual(
    [config.rateLimitPerMinute, config.webhookRetentionDays, config.events.retentionDays],
    [0, 35, 7],
  );
  assert.deepEqual(config.console, {
    publicUrl: 'https://till.example.com',
    idleMinutes: 30,
    sessionHours: 8,
    hasKeySignIn: false,
    oidc: {
      issuer: new URL('https://login.example.com/company'),
      clientId: 'till',
      clientSecret: 'hidden',
      scope: 'openid email',
      groupsClaim: 'roles',
      roles: new Map([
        ['support', ['read', 'refund']],
        ['admins', ['admin']],
      ]),
    },
  });
  assert.equal(config.entitlementGraceDays, 7);
  assert.equal(config.overviewTimeZone, 'America/New_York');
  assert.deepEqual(config.returnUrlOrigins, ['https://shop.example.com', 'http://127.0.0.1:8080']);
});

test('an empty variable counts as unset', () => {
  assert.equal(loadConfig({ PORT: '', DATABASE_URL: ' ' }, '/srv/till').port, 3000);
});

test('every mistake is reported at once, one line each, naming variable, value and what is allowed', () => {
  const mistakes = mistakesOf({
    PORT: '99999',
    HOST: 'not a host',
    ROLE: 'boss',
    LOG_LEVEL: 'loud',
    RATE_LIMIT_PER_MINUTE: '-1',
    DATABASE_POOL_SIZE: '1e3',
    WEBHOOK_RETENTION_DAYS: '34',
    EVENT_RETENTION_DAYS: '6',
    ENTITLEMENT_GRACE_DAYS: '1.5',
    OVERVIEW_TIME_ZONE: '+01:00',
    TRUST_PROXY: '10.0.0.0/33',
    SANDBOX_ALLOWED_HOSTS: 'sandbox,http://x',
    PROCESSOR_API_BASE: 'https://example.test/v1',
    RETURN_URL_ORIGINS: 'https://shop.example.com,https://shop.example.com/account',
    PROCESSOR_SECRET_KEY: 'sk_test_abc',
    PROCESSOR_WEBHOOK_SECRET: 'a,,b',
  });
  assert.deepEqual(mistakes.map((line) => line.split(' ')[0]).sort(), [
    'DATABASE_POOL_SIZE',
    'ENTITLEMENT_GRACE_DAYS',
    'EVENT_RETENTION_DAYS',
    'HOST',
    'LOG_LEVEL',
    'OVERVIEW_TIME_ZONE',
    'PORT',
    'PROCESSOR_API_BASE',
    'PROCESSOR_WEBHOOK_SECRET',
    'RATE_LIMIT_PER_MINUTE',
    'RETURN_URL_ORIGINS',
    'ROLE',
    'SANDBOX_ALLOWED_HOSTS',
    'TRUST_PROXY',
    'WEBHOOK_RETENTION_DAYS',
  ]);
  assert.ok(mistakes.includes('PORT is "99999"; allowed: a whole number from 0 to 65535'));
  assert.ok(mistakes.every((line) => !line.includes('\n')));
});

test('PROCESSES is a number or auto, and each process has at least two connections', () => {
  const read = (environment: Readonly<Record<string, string>>) => {
    const { processes, databasePoolSize } = loadConfig(environment, '/srv/till');
    return { processes, databasePoolSize };
  };
  assert.deepEqual(read({ PROCESSES: '1' }), { processes: undefined, databasePoolSize: 10 });
  assert.deepEqual(read({ PROCESSES: '4' }), { processes: 4, databasePoolSize: 10 });
  assert.deepEqual(read({ PROCESSES: '16' }), { processes: 16, databasePoolSize: 32 });
  assert.deepEqual(read({ PROCESSES: '4', DATABASE_POOL_SIZE: '9' }), { processes: 4, databasePoolSize: 9 });
  assert.equal(read({ PROCESSES: 'auto' }).processes, availableParallelism());
  for (const PROCESSES of ['0', '129', '-1', '1.5', 'all'])
    assert.deepEqual(mistakesOf({ PROCESSES }), [
      `PROCESSES is "${PROCESSES}"; allowed: a whole number from 1 to 128, or auto`,
    ]);
  assert.deepEqual(mistakesOf({ PROCESSES: '4', DATABASE_POOL_SIZE: '7' }), [
    'DATABASE_POOL_SIZE is 7; allowed with PROCESSES=4: at least 8',
  ]);
  assert.match(
    mistakesOf({ ...production, ROLE: 'worker', PROCESSES: '2' })[0] ?? '',
    /^PROCESSES is set; with ROLE=worker/,
  );
});

test('secrets never appear in a mistake', () => {
  const mistakes = mistakesOf({
    API_KEYS: 'ok:hunter2hunter2,bad name:hunter2',
    DATABASE_URL: 'mysql://till:hunter2@db/till',
    DATABASE_DIRECT_URL: 'db:hunter2',
    REDIS_URL: 'hunter2',
    PROCESSOR_SECRET_KEY: 'hunter2',
    PROCESSOR_WEBHOOK_SECRET: 'hunter2 hunter2',
    PROCESSOR_API_BASE: 'https://user:hunter2@example.test',
  });
  assert.equal(mistakes.length, 7);
  assert.ok(
    mistakes.every((line) => !line.includes('hunter2')),
    mistakes.join('\n'),
  );
});

test('a direct address of the database is refused without the other address', () => {
  const direct = { DATABASE_DIRECT_URL: 'postgres://till@db/till' };
  assert.match(mistakesOf(direct)[0] ?? '', /^DATABASE_URL is not set: .*unset DATABASE_DIRECT_URL/);
  assert.equal(
    loadConfig({ ...production, ...direct }, '/srv/till').databaseDirectUrl,
    direct.DATABASE_DIRECT_URL,
  );
});

test('a replica needs a database, and must be a standby', () => {
  const replica = { DATABASE_REPLICA_URL: 'postgres://till@one,two/till?target_session_attrs=standby' };
  assert.match(mistakesOf(replica)[0] ?? '', /^DATABASE_URL is not set: .*unset DATABASE_REPLICA_URL/);
  const config = loadConfig({ ...production, ...replica }, '/srv/till');
  assert.equal(config.databaseReplicaUrl, replica.DATABASE_REPLICA_URL);
  assert.equal(config.replicaLagSecondsMax, 5);
  const wrong = { DATABASE_REPLICA_URL: 'postgres://till:hunter2@one/till?target_session_attrs=primary' };
  assert.deepEqual(mistakesOf({ ...production, ...wrong, REPLICA_LAG_SECONDS_MAX: '0' }), [
    'DATABASE_REPLICA_URL has the target_session_attrs "primary"; allowed: standby, because a replica is one',
    'REPLICA_LAG_SECONDS_MAX is "0"; allowed: a whole number from 1 to 3600',
  ]);
});

test('several hosts of a database must be hosts, and must be able to take writes', () => {
  const several = 'postgres://till:hunter2@one:5432,two/till';
  assert.equal(loadConfig({ ...production, DATABASE_URL: several }, '/srv/till').databaseUrl, several);
  const mistakes = mistakesOf({
    DATABASE_URL: `${several}?target_session_attrs=standby`,
    DATABASE_DIRECT_URL: 'postgres://till:hunter2@one,,two/till',
  });
  assert.deepEqual(
    mistakes.map((line) => line.replace(/; .*/, '')),
    ['DATABASE_URL has the target_session_attrs "standby"', 'DATABASE_DIRECT_URL has a malformed host'],
  );
});

test('sentinels of Redis need hosts and the name of the primary', () => {
  const url = 'redis+sentinel://:hunter2@one:26379,two/mymaster';
  assert.equal(loadConfig({ ...production, REDIS_URL: url }, '/srv/till').redisUrl, url);
  const [mistake = ''] = mistakesOf({ REDIS_URL: 'redis+sentinel://:hunter2@one:26379' });
  assert.match(mistake, /^REDIS_URL is \(hidden, \d+ characters\); allowed: redis\+sentinel:\/\//);
});

test('a secret key without a webhook secret refuses to start', () => {
  for (const secret of ['', ' ', ',']) {
    const mistakes = mistakesOf({ PROCESSOR_SECRET_KEY: 'sk_test_abc', PROCESSOR_WEBHOOK_SECRET: secret });
    assert.ok(
      mistakes.some((line) => line.startsWith('PROCESSOR_WEBHOOK_SECRET')),
      `for ${JSON.stringify(secret)}`,
    );
  }
});

test('a publishable key is refused in place of a secret one', () => {
  assert.match(mistakesOf({ PROCESSOR_SECRET_KEY: 'pk_test_abc' })[0] ?? '', /sk_test_…, sk_live_…/);
});

test('production names each missing variable and accepts a complete set', () => {
  assert.deepEqual(
    mistakesOf({ NODE_ENV: 'production' }).map((line) => line.split(' ')[0]),
    [
      'PUBLIC_URL',
      'API_KEYS',
      'DATABASE_URL',
      'REDIS_URL',
      'PROCESSOR_SECRET_KEY',
      'PROCESSOR_WEBHOOK_SECRET',
    ],
  );
  assert.deepEqual(mistakesOf(production), []);
  for (const name of ['PUBLIC_URL', 'DATABASE_URL', 'REDIS_URL', 'PROCESSOR_WEBHOOK_SECRET']) {
    const [mistake, ...rest] = mistakesOf({ ...production, [name]: '' });
    assert.deepEqual(rest, []);
    assert.ok(mistake?.startsWith(`${name} is not set`), mistake);
  }
});

test('production refuses API keys shorter than 24 characters, without showing them', () => {
  const short = '0123456789abcdef0123456';
  assert.deepEqual(mistakesOf({ ...production, API_KEYS: `shop:${short}`, API_KEY: `${short}7` }), [
    'API_KEYS, key shop (hidden, 23 characters); allowed when NODE_ENV=production: 24 characters or more',
  ]);
  assert.deepEqual(mistakesOf({ API_KEYS: short }), []);
});

test('a role other than all has no embedded parts', () => {
  for (const role of ['api', 'worker']) {
    assert.deepEqual(
      mistakesOf({ ROLE: role }).map((line) => line.split(' ')[0]),
      ['DATABASE_URL', 'PROCESSOR_SECRET_KEY'],
    );
  }
});

test('keys for the secrets of event endpoints are long, and no mistake quotes them', () => {
  const [first, second] = ['a'.repeat(32), 'b'.repeat(40)];
  assert.deepEqual(loadConfig({ EVENT_SECRET_KEYS: `${first}, ${second}` }, '/srv/till').events.secretKeys, [
    first,
    second,
  ]);
  const [mistake = ''] = mistakesOf({ EVENT_SECRET_KEYS: `${first},hunter2` });
  assert.match(mistake, /^EVENT_SECRET_KEYS .*at least 32 characters/);
  assert.ok(!mistake.includes('hunter2'));
  assert.match(mistakesOf({ EVENT_ENDPOINTS_ALLOW_PRIVATE: 'yes' })[0] ?? '', /one of true, false/);
  assert.match(mistakesOf({ EVENT_RETENTION_DAYS: '6' })[0] ?? '', /from 7 to/);
});

test('PUBLIC_URL is required where another host can open the console, and is safe', () => {
  const names = (environment: Record<string, string>) =>
    mistakesOf(environment).map((line) => line.split(' ')[0]);
  assert.deepEqual(names({ HOST: '0.0.0.0' }), ['PUBLIC_URL']);
  for (const host of ['127.0.0.1', '127.0.0.2', '::1', 'localhost'])
    assert.deepEqual(names({ HOST: host }), []);
  assert.deepEqual(names({ HOST: '0.0.0.0', CONSOLE: 'off' }), []);
  assert.deepEqual(names({ HOST: '0.0.0.0', PUBLIC_URL: 'https://till.example.com' }), []);
  assert.deepEqual(names({ ...production, ROLE: 'worker', PUBLIC_URL: '' }), []);
  for (const url of [
    'http://till.example.com',
    'http://10.0.0.1',
    'https://till.example.com/path',
    'till',
    'ftp://x',
  ])
    assert.deepEqual(names({ PUBLIC_URL: url }), ['PUBLIC_URL'], url);
  for (const url of ['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000'])
    assert.deepEqual(names({ PUBLIC_URL: url }), [], url);
});

test('single sign-on needs all of its settings, and no mistake quotes its secret', () => {
  const oidc = {
    PUBLIC_URL: 'http://localhost:3000',
    OIDC_ISSUER: 'http://127.0.0.1:4000',
    OIDC_CLIENT_ID: 'till',
    OIDC_CLIENT_SECRET: 'hunter2',
    OIDC_ROLES: '{"admins":["admin"]}',
  };
  assert.deepEqual(mistakesOf(oidc), []);
  assert.equal(loadConfig(oidc, '/srv/till').console.hasKeySignIn, false);
  assert.equal(loadConfig({ ...oidc, CONSOLE_KEY_SIGN_IN: 'on' }, '/srv/till').console.hasKeySignIn, true);
  for (const name of Object.keys(oidc)) assert.equal(mistakesOf({ ...oidc, [name]: '' }).length, 1, name);
  const wrong = {
    OIDC_ISSUER: [
      'http://login.example.com',
      'https://u:hunter2@login.example.com',
      'login',
      'https://x/?hunter2',
    ],
    OIDC_ROLES: ['{}', '[]', 'null', '{"a":[]}', '{"a":["all"]}', '{"a":"admin"}', '{', '"admin"'],
    OIDC_SCOPES: ['email'],
  };
  for (const [name, values] of Object.entries(wrong))
    for (const value of values) {
      const mistakes = mistakesOf({ ...oidc, [name]: value });
      assert.deepEqual(
        mistakes.map((line) => line.split(' ')[0]),
        [name],
        value,
      );
      assert.doesNotMatch(mistakes.join(), /hunter2/);
    }
});
