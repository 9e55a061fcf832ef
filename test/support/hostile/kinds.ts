import type { Crowd } from './crowd.ts';

interface Attacked {
  readonly host: string;
  /** How many connections each kind has. */
  readonly count: number;
  /** API keys that may read, each of another application. */
  readonly keys: readonly string[];
}

const drip = { text: 'x', everyMs: 4_000 };
/** Far from what a body needs. */
const longBody = 1_000_000;
/** What a sign-in may have. */
const shortBody = 1_500;

/** Callers without an API key or with one that may read, each of which takes what it can and gives nothing. */
export function hostileKinds({ host, count, keys }: Attacked): readonly Crowd[] {
  const get = (path: string, ...headers: readonly string[]) =>
    [`GET ${path} HTTP/1.1`, `host: ${host}`, ...headers, '', ''].join('\r\n');
  const half = (path: string, length: number, ...headers: readonly string[]) =>
    [
      `POST ${path} HTTP/1.1`,
      `host: ${host}`,
      'content-type: application/json',
      'x-till-console: 1',
      `content-length: ${length}`,
      ...headers,
      '',
      '{"a',
    ].join('\r\n');
  const withKeys = (path: string, ...headers: readonly string[]) =>
    keys.map((key) => get(path, `x-api-key: ${key}`, ...headers));
  const files = ['/api/docs/openapi.json', '/api/docs', '/docs/', '/console', '/console/assets/console.js'];
  const kinds: readonly Omit<Crowd, 'count'>[] = [
    { kind: 'idle', openings: [''], asksNothing: true },
    {
      kind: 'half heads',
      openings: [`${get('/api/v1/payments').slice(0, -2)}x-drip: `],
      drip,
      asksNothing: true,
    },
    { kind: 'slow webhooks', openings: [half('/webhooks/processor', longBody)], drip },
    { kind: 'slow sign-ins', openings: [half('/console/session', shortBody)], drip },
    {
      kind: 'slow bodies',
      openings: keys.map((key) => half('/api/v1/customers', shortBody, `x-api-key: ${key}`)),
      drip,
    },
    { kind: 'unread lists', openings: withKeys('/api/v1/customers?limit=100'), readsNothing: true },
    {
      kind: 'unread exports',
      openings: withKeys('/api/v1/customers', 'accept: text/csv'),
      readsNothing: true,
    },
    { kind: 'unread files', openings: files.map((path) => get(path)), readsNothing: true },
    { kind: 'streams', openings: withKeys('/api/v1/events', 'accept: text/event-stream') },
    {
      kind: 'unread streams',
      openings: withKeys('/api/v1/events', 'accept: text/event-stream'),
      readsNothing: true,
    },
    {
      kind: 'long polls',
      openings: withKeys('/api/v1/events?types=plan.archived&waitSeconds=30'),
      repeats: true,
    },
    { kind: 'wrong keys', openings: [get('/api/v1/payments', 'x-api-key: till_wrong')], repeats: true },
  ];
  return kinds.map((kind) => ({ ...kind, count }));
}
