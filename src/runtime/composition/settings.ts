import { logFormats, logLevels } from '#core/platform/logger.ts';

interface Declaration {
  /** What it means, in one line of Markdown for the tables of settings. */
  readonly about: string;
  /** What happens without it, in words, if there is no default value. */
  readonly unset?: string;
  /** The default with NODE_ENV=production, if it differs. */
  readonly productionDefault?: number;
  /** Whether it contains a key or a password. */
  readonly isSecret?: true;
}

export interface IntegerSetting extends Declaration {
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

interface OptionalIntegerSetting extends Declaration {
  readonly default?: undefined;
  readonly min: number;
  readonly max: number;
}

export interface ChoiceSetting extends Declaration {
  readonly default: string;
  readonly choices: readonly string[];
}

/** A text, a path, an address or a secret. `config.ts` defines which values are allowed. */
interface TextSetting extends Declaration {
  readonly default?: string;
  readonly choices?: readonly string[];
}

export type Setting = IntegerSetting | OptionalIntegerSetting | ChoiceSetting | TextSetting;

/**
 * Every environment variable that Till reads, each declared once. `config.ts` reads them; the table in the README and
 * docs/reference/settings.md are written from this list, in this order.
 */
export const settings = {
  NODE_ENV: {
    about: '`production` refuses generated and embedded parts, and names each setting that is missing',
  },
  HOST: { default: '127.0.0.1', about: 'the address on which the HTTP API listens' },
  PORT: { default: 3000, min: 0, max: 65_535, about: 'its port; `0` takes any free one' },
  API_KEYS: {
    unset: 'generated, kept in `DATA_DIR/api-key`',
    isSecret: true,
    about:
      'comma-separated API keys for `x-api-key`, of 24 characters or more in production; an entry may be `name:key`; logs show the name',
  },
  API_KEY: { isSecret: true, about: 'one additional API key' },
  API_KEYS_FILE: { about: 'a file with one entry per line, reloaded on SIGHUP' },
  DATABASE_URL: {
    unset: 'embedded PostgreSQL in `DATA_DIR`',
    isSecret: true,
    about:
      'PostgreSQL 15 or newer, or a [pooler](docs/poolers.md) in front of it; for a cluster, [several hosts](docs/scaling.md#several-hosts): `host1:5432,host2:5432`',
  },
  DATABASE_DIRECT_URL: {
    isSecret: true,
    about:
      'the address of PostgreSQL itself, needed if `DATABASE_URL` leads to a pooler in transaction mode. Statements then have no names, which costs some throughput',
  },
  DATABASE_POOL_SIZE: {
    default: 10,
    min: 1,
    max: 1_000,
    about:
      'connections per process, plus one with which a process shows the others that it is running; as many again to a replica; with `PROCESSES`, of all its processes together, at least two each',
  },
  DATABASE_REPLICA_URL: {
    isSecret: true,
    about:
      'a [replica](docs/scaling.md#read-replicas) of the database, or several hosts, that serves lists, searches, CSV files and the overview to callers that send `x-till-position`',
  },
  REPLICA_LAG_SECONDS_MAX: {
    default: 5,
    min: 1,
    // Each second takes a sample of the primary in memory.
    max: 3_600,
    about: 'while the replica is further behind, the primary serves these reads',
  },
  REDIS_URL: {
    unset: 'in-process cache (`memory://`)',
    isSecret: true,
    about:
      'Redis 7 or Valkey, or [sentinels](docs/scaling.md#redis) that know its primary; `memory://` is enough for a single process',
  },
  DATA_DIR: { default: './.till', about: 'where the embedded parts keep their data' },
  PROCESSOR_SECRET_KEY: {
    unset: 'embedded sandbox',
    isSecret: true,
    about:
      'the secret or restricted key of Stripe; it must belong to the account and mode that the database is bound to',
  },
  PROCESSOR_WEBHOOK_SECRET: {
    unset: 'with the sandbox: generated',
    isSecret: true,
    about: 'comma-separated signing secrets; several allow rotation',
  },
  PROCESSOR_API_BASE: {
    unset: "Stripe's public address",
    about: 'another server with the same wire API',
  },
  PROCESSOR_MAX_IN_FLIGHT: {
    default: 200,
    min: 1,
    max: 10_000,
    about:
      'concurrent calls to Stripe per process; further ones get 503 at once, or wait if a limit of calls per second holds',
  },
  PROCESSOR_REQUESTS_PER_SECOND: {
    unset: "Stripe's own: 100, in test mode 25; with the sandbox or `PROCESSOR_API_BASE` none",
    min: 1,
    max: 10_000,
    about:
      'how many calls to Stripe per second the account allows, of all processes together; further calls [wait](docs/scaling.md#the-limits-of-stripe). Each operation of Stripe has 25',
  },
  SANDBOX_PORT: {
    default: 3001,
    min: 0,
    max: 65_535,
    about: 'the port on which the sandbox and its pages listen, on 127.0.0.1',
  },
  SANDBOX_ALLOWED_HOSTS: {
    about:
      'comma-separated host names, besides `localhost`, under which the controls of the sandbox may be called',
  },
  LOG_LEVEL: { default: 'info', choices: logLevels, about: 'what is logged: this level and those above it' },
  LOG_FORMAT: {
    unset: '`json`; on a terminal outside production `pretty`',
    choices: logFormats,
    about: '`pretty` is for people; `NO_COLOR` turns its colours off',
  },
  RATE_LIMIT_PER_MINUTE: {
    default: 6_000,
    min: 0,
    max: 100_000_000,
    about:
      'requests to `/api/v1` for all API keys with the same name, with the sessions of the console that they opened; each person who used single sign-on has a limit of the same size; `0` turns the limit off. Requests with invalid API keys: always 60 per address',
  },
  USAGE_RATE_LIMIT_PER_MINUTE: {
    default: 60_000,
    min: 0,
    max: 100_000_000,
    about:
      'requests that record or consume usage, for all API keys with the same name; they do not count towards `RATE_LIMIT_PER_MINUTE`. `0` turns the limit off',
  },
  TRUST_PROXY: { about: 'trusted proxies for `X-Forwarded-For`: addresses, CIDR blocks, `loopback`' },
  WEBHOOK_RETENTION_DAYS: {
    default: 90,
    // The processor can resend or list an event for 30 days: deleting one sooner could apply it twice.
    min: 35,
    max: 36_500,
    about: 'how long processed webhook events are kept; at least 35',
  },
  ENTITLEMENT_GRACE_DAYS: {
    default: 0,
    min: 0,
    // A year is longer than any processor retries a payment.
    max: 365,
    about:
      'how many days after the paid period a `past_due` subscription still entitles its customer; at most 365',
  },
  EVENT_RETENTION_DAYS: {
    default: 90,
    // Retries take three days, so with a week no event is deleted while it is retried.
    min: 7,
    max: 36_500,
    about: 'how long events and their deliveries are kept; at least 7',
  },
  USAGE_RETENTION_DAYS: {
    default: 90,
    // Repeated events are recognised for 35 days.
    min: 36,
    max: 36_500,
    about: 'how long usage events are kept; at least 36. Their sums are kept longer',
  },
  EVENT_ENDPOINTS_ALLOW_PRIVATE: {
    default: 'false',
    choices: ['true', 'false'],
    about:
      '`true` allows event endpoints in private networks, and with `http`; with the embedded sandbox, those on this machine are always allowed',
  },
  EVENT_SECRET_KEYS: {
    isSecret: true,
    about:
      'comma-separated keys of at least 32 characters that encrypt the secrets of event endpoints in the database, including those already stored; the first encrypts, all decrypt',
  },
  OVERVIEW_TIME_ZONE: {
    default: 'UTC',
    about:
      'the time zone of the days of the [overview](docs/overview.md) and of all times in the [console](docs/console.md), by its IANA name, such as `Europe/Berlin`; the same for all processes',
  },
  RETURN_URL_ORIGINS: {
    unset: 'any',
    about:
      "comma-separated origins, such as `https://shop.example.com`, to which Stripe's pages may send customers back",
  },
  CONSOLE: { default: 'on', choices: ['on', 'off'], about: '`off`: no console at `/console`' },
  PUBLIC_URL: {
    unset: '`localhost`, `127.0.0.1` and `[::1]` with the port of Till',
    about:
      'where people open Till, such as `https://till.example.com`: the console accepts only requests from there. Required for the console in production, with single sign-on, and if `HOST` is not a loopback address; `http` only on loopback',
  },
  CONSOLE_SESSION_IDLE_MINUTES: {
    default: 480,
    min: 5,
    max: 10_080,
    about: 'a session of the console ends after this time without a request of the person',
  },
  CONSOLE_SESSION_HOURS: {
    default: 168,
    min: 1,
    // A longer session would outlive its purpose.
    max: 720,
    about: 'a session of the console lasts at most this long; one of single sign-on at most 12 hours',
  },
  CONSOLE_KEY_SIGN_IN: {
    default: 'off',
    choices: ['on', 'off'],
    about:
      '`on`: with single sign-on, people can also sign in with an API key. Without single sign-on they always can',
  },
  OIDC_ISSUER: {
    unset: 'no single sign-on',
    about:
      'the [OpenID Connect provider](docs/single-sign-on.md) through which people sign in to the console',
  },
  OIDC_CLIENT_ID: { about: 'the id of Till at the provider; required with `OIDC_ISSUER`' },
  OIDC_CLIENT_SECRET: { isSecret: true, about: 'its secret; required with `OIDC_ISSUER`' },
  OIDC_SCOPES: { default: 'openid email profile', about: 'the scopes that Till requests from the provider' },
  OIDC_GROUPS_CLAIM: { default: 'groups', about: 'the claim with the groups of a person' },
  OIDC_ROLES: {
    about:
      'JSON: the scopes of each group, such as `{"support":["read","refund"],"admins":["admin"]}`; several groups add up; required with `OIDC_ISSUER`',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    unset: 'no traces, and metrics only at `/metrics`',
    about:
      'the address of an OpenTelemetry collector (OTLP over HTTP), such as `http://collector:4318`, to which [traces and metrics](docs/observability.md) are sent',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    isSecret: true,
    about: 'headers for the collector, such as `authorization=Bearer%20abc`; several separated by commas',
  },
  OTEL_SERVICE_NAME: { default: 'till', about: 'the name of this service in traces and metrics' },
  OTEL_TRACES_SAMPLE_PERCENT: {
    default: 100,
    min: 0,
    max: 100,
    about:
      'how many of the traces that begin in Till are recorded; for a request with `traceparent`, its caller decides',
  },
  OTEL_METRIC_EXPORT_INTERVAL: {
    default: 60_000,
    min: 1_000,
    max: 3_600_000,
    about: 'how often metrics are sent to the collector, in milliseconds',
  },
  STOP_DELAY_SECONDS: {
    default: 0,
    // Load balancers check every few seconds. Without a load balancer, a delay only wastes time.
    productionDefault: 5,
    min: 0,
    max: 60,
    about:
      'how long requests are accepted after a stop signal, while `/health` and `/health/ready` already return 503',
  },
  ROLE: {
    default: 'all',
    choices: ['all', 'api', 'worker'],
    about: '`api` or `worker` runs only that half; embedded parts need `all`',
  },
  PROCESSES: {
    default: '1',
    about:
      'how many [processes](docs/scaling.md#several-processes-on-one-machine) serve requests on one port, up to 128; `auto` is the number of cores. One of them does the background work',
  },
} as const satisfies Readonly<Record<string, Setting>>;

type SettingName = keyof typeof settings;

/** The names of the settings that are declared with a kind. */
export type NamesOf<Kind> = {
  [Name in SettingName]: (typeof settings)[Name] extends Kind ? Name : never;
}[SettingName];
