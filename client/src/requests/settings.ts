import type { RequestOptions, TillOptions } from '../options.ts';

const defaults: Limits = {
  /** A little longer than the 30 seconds within which Till responds, so that its own response arrives. */
  timeoutMs: 35_000,
  /** Longer than the minute after which a rate limit ends, and short enough that the caller still waits. */
  totalTimeoutMs: 90_000,
  /** With their delays, they bridge a restart. */
  retries: 3,
};
/** The first retry often succeeds at once: most failures are connections that a restart has closed. */
const retryDelayMsDefault = 500;
/** The longest delay of a timer in all runtimes: a longer one would end at once. */
const timerMsMax = 2_147_483_647;
/** Every path of a call begins with it. */
const apiPath = '/api/v1';
/** After this many failures, the cause is not temporary. */
const retriesMax = 100;

/** How long a call may take, and how often it is sent again. */
export interface Limits {
  readonly timeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly retries: number;
}

/** Checked options. */
export interface Settings extends Limits {
  /** Without a slash at the end. */
  readonly url: string;
  /** Of every request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly retryDelayMs: number;
  readonly fetch: typeof fetch;
  readonly onRetry: TillOptions['onRetry'];
}

export function readSettings(options: TillOptions): Settings {
  const { retryDelayMs = retryDelayMsDefault, onRetry } = options;
  return {
    ...limitsOf(defaults, options),
    url: readUrl(options.url),
    headers: { ...readApiKey(options.apiKey), ...options.headers },
    retryDelayMs: readNumber('retryDelayMs', retryDelayMs, 0, timerMsMax),
    // Some runtimes refuse a `fetch` that is called as a method of another object.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    onRetry,
  };
}

/** The limits of a call: its own options, and the client's for the rest. */
export function limitsOf(limits: Limits, options: RequestOptions): Limits {
  const { timeoutMs, totalTimeoutMs, retries } = options;
  return {
    timeoutMs: readNumber('timeoutMs', timeoutMs ?? limits.timeoutMs, 1, timerMsMax),
    totalTimeoutMs: readNumber('totalTimeoutMs', totalTimeoutMs ?? limits.totalTimeoutMs, 1, timerMsMax),
    retries: readNumber('retries', retries ?? limits.retries, 0, retriesMax),
  };
}

function readNumber(name: string, value: number, min: number, max: number): number {
  if (Number.isFinite(value) && value >= min && value <= max) return value;
  throw new TypeError(`\`${name}\` must be a number from ${min} to ${max}`);
}

/** No message shows the URL or the API key: both may contain a secret. */
function readUrl(text: string | undefined): string {
  if (text === undefined || !URL.canParse(text))
    throw new TypeError('`url` must be the address of Till, such as https://till.example.com');
  const { protocol, username, password, search, hash, origin, pathname } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new TypeError('`url` must begin with http:// or https://');
  if (username !== '' || password !== '') throw new TypeError('`url` must have no user and no password');
  if (search !== '' || hash !== '') throw new TypeError('`url` must have no query and no fragment');
  const path = pathname.replace(/\/+$/, '');
  // Till would respond 404 to every call, and `isEntitled` would take each customer for an unknown one.
  if (path.endsWith(apiPath)) throw new TypeError(`\`url\` must end before ${apiPath}`);
  return `${origin}${path}`;
}

/** Checked here, because `fetch` quotes a header that it refuses. */
function readApiKey(key: string | null | undefined): Readonly<Record<string, string>> {
  if (key === null) return {};
  if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return { 'x-api-key': key };
  throw new TypeError('`apiKey` must be an API key of Till: visible characters without spaces');
}
