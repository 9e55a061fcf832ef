import assert from 'node:assert/strict';
import { testKey } from './client.ts';

/** What the console sends with every request. */
export const consoleHeaders = { 'x-till-console': '1' };

/** Opens a session with an API key, and returns its cookie as a browser sends it. */
export async function openSession(url: string, apiKey = testKey): Promise<string> {
  const response = await signIn(url, apiKey);
  assert.equal(response.status, 204, await response.text());
  return cookieOf(response);
}

export function signIn(
  url: string,
  apiKey: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${url}/console/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...consoleHeaders, ...headers },
    body: JSON.stringify({ apiKey }),
  });
}

/** A request of the console, with the cookie of a session. */
export function callConsole(
  url: string,
  path: string,
  cookie: string,
  { headers, ...init }: RequestInit & { headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> {
  return fetch(`${url}/console${path}`, {
    ...init,
    headers: {
      ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...consoleHeaders,
      ...(cookie === '' ? {} : { cookie }),
      ...headers,
    },
  });
}

/** The name and the value of the cookie that a response sets. */
export function cookieOf(response: Response, name = 'till'): string {
  const cookie = response.headers
    .getSetCookie()
    .map((text) => text.split(';')[0] ?? '')
    .find((text) => text.replace('__Host-', '').startsWith(`${name}=`));
  assert(cookie !== undefined, `no cookie ${name}`);
  return cookie;
}
