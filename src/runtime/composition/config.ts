import { resolve } from 'node:path';
import { type Scope, scopes } from '#core/model/api-key.ts';
import {
  DatabaseAddressError,
  parseDatabaseAddress,
  type ServerKind,
} from '#core/platform/database-address.ts';
import { EnvironmentReader } from '#core/platform/environment.ts';
import type { LogFormat, LogLevel } from '#core/platform/logger.ts';
import { isSentinelAddress, parseSentinelAddress, sentinelForm } from '#core/platform/sentinel-address.ts';
import { isTimeZone } from '#core/platform/time-zone.ts';
import type { AddressPolicy } from '#engine/events/endpoints/endpoint-address.ts';
import { type ApiKey, parseApiKeys, shortKeyMistakes } from '#http/access/api-key.ts';
import type { OidcSettings } from '#operators/console/sign-in/identity-provider.ts';
import type { TelemetrySettings } from '../telemetry/open-telemetry.ts';
import { readPoolSize, readProcesses, readRequestsPerSecond } from './process-settings.ts';
import { type ChoiceSetting, type IntegerSetting, type NamesOf, type Setting, settings } from './settings.ts';
import { readTelemetry } from './telemetry-config.ts';

/** All settings from the environment, read once at start. */
export interface Config {
  readonly production: boolean;
  readonly role: (typeof settings.ROLE.choices)[number];
  /** How many processes a parent process starts. Undefined: there is no parent. */
  readonly processes: number | undefined;
  readonly host: string;
  readonly port: number;
  /** API keys from the environment and from a file; both may be set. If neither is set, an API key is generated. */
  readonly apiKeys: readonly ApiKey[];
  readonly apiKeysFile: string | undefined;
  /** Undefined: the embedded PostgreSQL. */
  readonly databaseUrl: string | undefined;
  /** The address of PostgreSQL itself. Set if `databaseUrl` leads to a pooler that shares sessions. */
  readonly databaseDirectUrl: string | undefined;
  /** The connections of all processes together. */
  readonly databasePoolSize: number;
  /** Undefined: all reads use the primary. */
  readonly databaseReplicaUrl: string | undefined;
  readonly replicaLagSecondsMax: number;
  /** Undefined: the in-process cache. */
  readonly redisUrl: string | undefined;
  readonly dataDir: string;
  readonly processor: ProcessorConfig;
  readonly logLevel: LogLevel;
  /** Undefined: `pretty` on a terminal outside production. */
  readonly logFormat: LogFormat | undefined;
  /** 0 turns the limit off. */
  readonly rateLimitPerMinute: number;
  /** For requests that record or consume usage. 0 turns the limit off. */
  readonly usageRateLimitPerMinute: number;
  readonly trustProxy: readonly string[];
  readonly webhookRetentionDays: number;
  /** How long a `past_due` subscription still entitles its customer after the paid period. */
  readonly entitlementGraceDays: number;
  readonly usageRetentionDays: number;
  readonly events: EventConfig;
  /** The days of the overview are those of this time zone. */
  readonly overviewTimeZone: string;
  /** Where the pages of the processor may send customers back. Empty: anywhere. */
  readonly returnUrlOrigins: readonly string[];
  /** Whether /console is served. */
  readonly hasConsole: boolean;
  readonly console: ConsoleConfig;
  /** Undefined: no collector. */
  readonly telemetry: TelemetrySettings | undefined;
  /**
   * How long requests are still accepted after a stop signal, while /health/ready makes load balancers send them
   * elsewhere.
   */
  readonly stopDelaySeconds: number;
}

/** The settings of events for applications, and the allowed addresses of their endpoints. */
export interface EventConfig extends AddressPolicy {
  /** How long events for applications and their deliveries are kept. */
  readonly retentionDays: number;
  /**
   * These keys encrypt the secrets of event endpoints. The first encrypts new ones. Empty: the secrets are stored
   * unencrypted.
   */
  readonly secretKeys: readonly string[];
}

export interface ConsoleConfig {
  /** The origin at which people open Till. Undefined: on this machine, with the port of Till. */
  readonly publicUrl: string | undefined;
  readonly idleMinutes: number;
  readonly sessionHours: number;
  /** Whether people can sign in with an API key. */
  readonly hasKeySignIn: boolean;
  /** Undefined: no single sign-on. */
  readonly oidc: OidcSettings | undefined;
}

interface ProcessorConfig {
  /** Undefined: the embedded sandbox. */
  readonly secretKey: string | undefined;
  /** Undefined: the processor's public address. */
  readonly apiBase: string | undefined;
  /** Empty only with the sandbox, which then generates one. */
  readonly webhookSecrets: readonly string[];
  readonly maxInFlight: number;
  /** Undefined: the limits of the processor, if it is the public one. */
  readonly requestsPerSecond: number | undefined;
  readonly sandboxPort: number;
  /** Names under which the controls of the sandbox may be called. */
  readonly sandboxHosts: readonly string[];
}

/**
 * The variables that contain a key or a password. They are removed from the environment once read, because child
 * processes inherit it and diagnostic reports quote it.
 */
export const secretVariables: readonly string[] = Object.entries<Setting>(settings)
  .filter(([, { isSecret }]) => isSecret)
  .map(([name]) => name);

/** The settings are invalid. Each mistake is one line that names the variable, its value and what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(`Invalid configuration:\n${mistakes.map((mistake) => `  ${mistake}`).join('\n')}`);
    this.mistakes = mistakes;
  }
}

const databaseProtocols = ['postgres://', 'postgresql://'];

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the whole configuration, or throws a ConfigError with every mistake. */
export function loadConfig(environment: Environment, workingDir: string): Config {
  const { config, mistakes } = inspectConfig(environment, workingDir);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

/** The configuration with every mistake. A variable with a mistake has its default. */
export function inspectConfig(
  environment: Environment,
  workingDir: string,
): { readonly config: Config; readonly mistakes: readonly string[] } {
  const env = new EnvironmentReader(environment);
  const production = env.text('NODE_ENV') === 'production';
  const processor = readProcessor(env);
  const processes = readProcesses(env);
  const config: Config = {
    production,
    role: choice(env, 'ROLE'),
    processes,
    host: env.host('HOST', settings.HOST.default),
    port: integer(env, 'PORT'),
    apiKeys: [...readKeys(env, 'API_KEYS', production), ...readKeys(env, 'API_KEY', production)],
    apiKeysFile: env.path('API_KEYS_FILE', workingDir),
    databaseUrl: readDatabaseUrl(env, 'DATABASE_URL'),
    databaseDirectUrl: readDatabaseUrl(env, 'DATABASE_DIRECT_URL'),
    databasePoolSize: readPoolSize(env, integer(env, 'DATABASE_POOL_SIZE'), processes),
    databaseReplicaUrl: readDatabaseUrl(env, 'DATABASE_REPLICA_URL', 'replica'),
    replicaLagSecondsMax: integer(env, 'REPLICA_LAG_SECONDS_MAX'),
    redisUrl: readRedisUrl(env),
    dataDir: env.path('DATA_DIR', workingDir) ?? resolve(workingDir, settings.DATA_DIR.default),
    processor,
    logLevel: choice(env, 'LOG_LEVEL'),
    logFormat: env.oneOf('LOG_FORMAT', settings.LOG_FORMAT.choices, undefined),
    rateLimitPerMinute: integer(env, 'RATE_LIMIT_PER_MINUTE'),
    usageRateLimitPerMinute: integer(env, 'USAGE_RATE_LIMIT_PER_MINUTE'),
    trustProxy: env.addresses('TRUST_PROXY'),
    webhookRetentionDays: integer(env, 'WEBHOOK_RETENTION_DAYS'),
    entitlementGraceDays: integer(env, 'ENTITLEMENT_GRACE_DAYS'),
    usageRetentionDays: integer(env, 'USAGE_RETENTION_DAYS'),
    events: {
      retentionDays: integer(env, 'EVENT_RETENTION_DAYS'),
      allowPrivate: choice(env, 'EVENT_ENDPOINTS_ALLOW_PRIVATE') === 'true',
      allowLoopback: processor.secretKey === undefined,
      secretKeys: readSecretKeys(env),
    },
    overviewTimeZone: readTimeZone(env),
    returnUrlOrigins: env.origins('RETURN_URL_ORIGINS'),
    hasConsole: choice(env, 'CONSOLE') === 'on',
    console: readConsole(env),
    telemetry: readTelemetry(env),
    stopDelaySeconds: integer(env, 'STOP_DELAY_SECONDS', production),
  };
  if (config.hasConsole && config.role !== 'worker') requirePublicUrl(env, config);
  if (config.production) refuseDefaults(env);
  else if (config.role !== 'all') refuseEmbeddedParts(env, config.role);
  if (config.role === 'worker' && processes !== undefined)
    env.mistakes.push(
      'PROCESSES is set; with ROLE=worker allowed: 1, because one process does the background work',
    );
  for (const name of ['DATABASE_DIRECT_URL', 'DATABASE_REPLICA_URL'])
    if (env.has(name) && !env.has('DATABASE_URL')) env.missingFor('DATABASE_URL', name);
  return { config: Object.freeze(config), mistakes: env.mistakes };
}

function integer(env: EnvironmentReader, name: NamesOf<IntegerSetting>, production = false): number {
  const { productionDefault, ...range }: IntegerSetting = settings[name];
  return env.integer(name, production ? { ...range, default: productionDefault ?? range.default } : range);
}

function choice<Name extends NamesOf<ChoiceSetting>>(
  env: EnvironmentReader,
  name: Name,
): (typeof settings)[Name]['choices'][number] {
  type Choice = (typeof settings)[Name]['choices'][number];
  const { choices, default: fallback } = settings[name];
  return env.oneOf<Choice, Choice>(name, choices, fallback);
}

function readDatabaseUrl(env: EnvironmentReader, name: string, kind?: ServerKind): string | undefined {
  const url = env.address(name, databaseProtocols);
  if (url === undefined) return undefined;
  try {
    parseDatabaseAddress(url, kind);
    return url;
  } catch (error) {
    if (!(error instanceof DatabaseAddressError)) throw error;
    env.mistakes.push(`${name} ${error.message}`);
    return undefined;
  }
}

const redisProtocols = ['redis://', 'rediss://', 'redis+sentinel://', 'rediss+sentinel://'];

function readRedisUrl(env: EnvironmentReader): string | undefined {
  const url = env.address('REDIS_URL', redisProtocols, 'memory://');
  if (url === undefined || !isSentinelAddress(url) || parseSentinelAddress(url) !== undefined) return url;
  env.mistakes.push(`REDIS_URL is (hidden, ${url.length} characters); allowed: ${sentinelForm}`);
  return undefined;
}

function readKeys(env: EnvironmentReader, name: string, production: boolean): readonly ApiKey[] {
  const text = env.text(name);
  if (text === undefined) return [];
  const { keys, mistakes } = parseApiKeys(text.split(','), name);
  env.mistakes.push(...mistakes);
  if (production) env.mistakes.push(...shortKeyMistakes(keys, name));
  return keys;
}

/** A short key could be guessed by a person with a copy of the database. */
const secretKeyLengthMin = 32;

function readSecretKeys(env: EnvironmentReader): readonly string[] {
  const keys = env.secrets('EVENT_SECRET_KEYS');
  if (keys.every((key) => key.length >= secretKeyLengthMin)) return keys;
  env.mistakes.push(
    `EVENT_SECRET_KEYS is (hidden); allowed: keys of at least ${secretKeyLengthMin} characters`,
  );
  return [];
}

function readTimeZone(env: EnvironmentReader): string {
  const { default: fallback } = settings.OVERVIEW_TIME_ZONE;
  const name = env.text('OVERVIEW_TIME_ZONE') ?? fallback;
  if (isTimeZone(name)) return name;
  const allowed = 'the IANA name of a time zone, such as UTC or Europe/Berlin';
  env.mistakes.push(`OVERVIEW_TIME_ZONE is ${JSON.stringify(name)}; allowed: ${allowed}`);
  return fallback;
}

function readProcessor(env: EnvironmentReader): ProcessorConfig {
  const secretKey = env.secret('PROCESSOR_SECRET_KEY', {
    pattern: /^(sk|rk)_(test|live)_\w+$/,
    allowed: 'a secret or restricted key: sk_test_…, sk_live_…, rk_test_… or rk_live_…',
  });
  const webhookSecrets = env.secrets('PROCESSOR_WEBHOOK_SECRET');
  const apiBase = env.origin('PROCESSOR_API_BASE');
  if (secretKey !== undefined && webhookSecrets.length === 0) {
    env.missing(
      'PROCESSOR_WEBHOOK_SECRET',
      'set it to the signing secret of your webhook endpoint; without it anyone could forge events',
    );
  }
  if (secretKey === undefined && apiBase !== undefined)
    env.missingFor('PROCESSOR_SECRET_KEY', 'PROCESSOR_API_BASE');
  return {
    secretKey,
    apiBase,
    webhookSecrets,
    maxInFlight: integer(env, 'PROCESSOR_MAX_IN_FLIGHT'),
    requestsPerSecond: readRequestsPerSecond(env),
    sandboxPort: integer(env, 'SANDBOX_PORT'),
    sandboxHosts: env.hosts('SANDBOX_ALLOWED_HOSTS'),
  };
}

function readConsole(env: EnvironmentReader): ConsoleConfig {
  const publicUrl = env.origin('PUBLIC_URL');
  if (publicUrl !== undefined && !isSafeOrigin(publicUrl))
    env.mistakes.push(`PUBLIC_URL is "${publicUrl}"; allowed: https://, or http:// on a loopback address`);
  const oidc = readOidc(env);
  const keySignIn = choice(env, 'CONSOLE_KEY_SIGN_IN');
  return {
    publicUrl,
    idleMinutes: integer(env, 'CONSOLE_SESSION_IDLE_MINUTES'),
    sessionHours: integer(env, 'CONSOLE_SESSION_HOURS'),
    hasKeySignIn: oidc === undefined || keySignIn === 'on',
    oidc,
  };
}

/** The settings of single sign-on, besides PUBLIC_URL. */
const oidcNames = ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ROLES'];

function readOidc(env: EnvironmentReader): OidcSettings | undefined {
  const oidc = {
    issuer: URL.parse(env.text('OIDC_ISSUER') ?? ''),
    clientId: env.text('OIDC_CLIENT_ID') ?? '',
    clientSecret: env.text('OIDC_CLIENT_SECRET') ?? '',
    scope: env.text('OIDC_SCOPES') ?? settings.OIDC_SCOPES.default,
    groupsClaim: env.text('OIDC_GROUPS_CLAIM') ?? settings.OIDC_GROUPS_CLAIM.default,
    roles: readRoles(env),
  };
  const { issuer } = oidc;
  if (!env.has('OIDC_ISSUER')) {
    for (const name of oidcNames) if (env.has(name)) env.missingFor('OIDC_ISSUER', name);
    return undefined;
  }
  for (const name of [...oidcNames, 'PUBLIC_URL'])
    if (!env.has(name)) env.missing(name, 'required with OIDC_ISSUER');
  if (!oidc.scope.split(' ').includes('openid'))
    env.mistakes.push('OIDC_SCOPES has no openid; allowed: scopes separated by spaces, with openid');
  if (issuer !== null && isSafeOrigin(issuer.origin) && !issuer.username && !issuer.search && !issuer.hash)
    return { ...oidc, issuer };
  env.mistakes.push(
    'OIDC_ISSUER is not valid; allowed: an address with https://, or http:// on a loopback address, without credentials',
  );
  return undefined;
}

function readRoles(env: EnvironmentReader): OidcSettings['roles'] {
  const text = env.text('OIDC_ROLES');
  if (text === undefined) return new Map();
  const roles = parseRoles(text);
  if (roles !== undefined) return roles;
  env.mistakes.push(
    `OIDC_ROLES is not valid; allowed: JSON such as {"support":["read","refund"]}, with the scopes ${scopes.join(', ')}`,
  );
  return new Map();
}

function parseRoles(text: string): OidcSettings['roles'] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
    const roles = Object.entries(parsed);
    const isRole = ([, held]: [string, unknown]): boolean =>
      Array.isArray(held) && held.length > 0 && held.every((scope: Scope) => scopes.includes(scope));
    return roles.length > 0 && roles.every(isRole) ? new Map(roles) : undefined;
  } catch {
    return undefined;
  }
}

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];

/** Without TLS, a session or a sign-in could be read on its way, unless it never leaves the machine. */
function isSafeOrigin(origin: string): boolean {
  const { protocol, hostname } = URL.parse(origin) ?? { protocol: '', hostname: '' };
  return protocol === 'https:' || (protocol === 'http:' && loopbackHosts.includes(hostname));
}

/** Without it, Till cannot check the origin of requests from other hosts. */
function requirePublicUrl(env: EnvironmentReader, { host, production }: Config): void {
  const advice = 'set it to the address at which people open the console, or set CONSOLE=off';
  if (env.has('PUBLIC_URL')) return;
  if (production) env.missing('PUBLIC_URL', `required when NODE_ENV=production; ${advice}`);
  else if (!['localhost', '::1'].includes(host) && !host.startsWith('127.'))
    env.missing('PUBLIC_URL', `required when HOST is not a loopback address; ${advice}`);
}

/** Production uses nothing generated or embedded: a sandbox must never be mistaken for a processor there. */
function refuseDefaults(env: EnvironmentReader): void {
  const why = 'required when NODE_ENV=production';
  if (!env.has('API_KEYS') && !env.has('API_KEY') && !env.has('API_KEYS_FILE')) {
    env.missing('API_KEYS', `${why}, where no API key is generated`);
  }
  if (!env.has('DATABASE_URL')) env.missing('DATABASE_URL', `${why}, where there is no embedded PostgreSQL`);
  if (!env.has('REDIS_URL')) env.missing('REDIS_URL', `${why}; use memory:// for a single process`);
  if (!env.has('PROCESSOR_SECRET_KEY'))
    env.missing('PROCESSOR_SECRET_KEY', `${why}, where there is no sandbox`);
  if (!env.has('PROCESSOR_WEBHOOK_SECRET')) env.missing('PROCESSOR_WEBHOOK_SECRET', why);
}

/** Embedded parts belong to one process that does everything; separate roles must share real servers. */
function refuseEmbeddedParts(env: EnvironmentReader, role: string): void {
  const why = `required when ROLE=${role}; only ROLE=all has embedded parts`;
  if (!env.has('DATABASE_URL')) env.missing('DATABASE_URL', why);
  if (!env.has('PROCESSOR_SECRET_KEY')) env.missing('PROCESSOR_SECRET_KEY', why);
}
