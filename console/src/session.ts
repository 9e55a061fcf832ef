import { computed, signal } from '@preact/signals';
import { type CurrentApiKey, Till, TillTimeoutError } from '@till/client';
import { withBackground } from './api/background.ts';

export type Scope = CurrentApiKey['scopes'][number];

/** The session is a cookie that scripts cannot read, so whether there is one is known only after a request. */
type State = 'unknown' | 'signed in' | 'signed out';

const state = signal<State>('unknown');
/** Undefined until the server has accepted the session. */
const current = signal<CurrentApiKey | undefined>(undefined);

/** Why the last session ended, for the sign-in page. */
export const signedOutBecause = signal('');
/** False after a request got no response, until one does. */
export const isReachable = signal(true);
export const isSignedOut = computed(() => state.value === 'signed out');
export const isSignedIn = computed(() => state.value === 'signed in');
export const currentKey = computed(() => current.value);
/** Who has signed in, as the page shows it. */
export const userName = computed(
  () => current.value?.person?.name ?? current.value?.person?.email ?? current.value?.name,
);

/** Tells the other tabs that the session has changed. */
const tabs = new BroadcastChannel('till-session');

/** How people sign in here. */
const ways = document.documentElement.dataset['signIn'] ?? '';
export const hasKeySignIn = ways.includes('key');
export const hasSingleSignOn = ways.includes('single-sign-on');

/** Without it, Till refuses a request: no page of another origin can send it. */
const consoleHeader = { 'x-till-console': '1' };

/** Ends when the user signs out. Reads that are under way then would be refused. */
let reads = new AbortController();

const settings = {
  // The operations of the API are also below this path, with the cookie of the session in place of an API key.
  url: `${location.origin}/console`,
  apiKey: null,
  headers: consoleHeader,
  // The user sees a failure at once and decides. A load without a response is repeated once there is a connection.
  retries: 0,
};

const send: typeof fetch = async (input, init) => {
  const session = current.value;
  const isRead = (init?.method ?? 'GET') === 'GET';
  const signals = [...(isRead ? [reads.signal] : []), ...(init?.signal ? [init.signal] : [])];
  const signal = AbortSignal.any(signals);
  // Without `no-store`, a tab would wait for the same request of another tab.
  const request = {
    ...init,
    signal,
    headers: withBackground(init?.headers),
    cache: 'no-store',
    credentials: 'same-origin',
  } as const;
  const response = await fetch(input, request).catch((error: unknown) => {
    const isStopped = signal.aborted && !(signal.reason instanceof TillTimeoutError);
    if (!isStopped) isReachable.value = false;
    throw error;
  });
  isReachable.value = true;
  // A late response to the session before says nothing about this one.
  if (response.status === 401 && current.value === session)
    forget(session === undefined ? '' : 'Your session has ended.');
  return response;
};

const client = new Till({ ...settings, fetch: send });

/** The API, with the session of this browser. */
export function till(): Till {
  return client;
}

/**
 * The API for one call whose response may be too large for a text. `read` gets the body of a success; the text of the
 * response is empty. A response of another type, such as the page of a proxy, is not read.
 */
export function streamed(type: string, read: (body: ReadableStream<Uint8Array>) => Promise<void>): Till {
  return new Till({
    ...settings,
    fetch: async (input, init) => {
      const response = await send(input, init);
      const { ok, body, headers } = response;
      if (!ok || body === null || headers.get('content-type')?.startsWith(type) !== true) return response;
      await read(body);
      return new Response(null, { headers });
    },
  });
}

/** Whether the session has this scope. The server decides; this only hides actions that it would refuse. */
export function can(scope: Scope): boolean {
  const held = current.value?.scopes ?? [];
  return held.includes(scope) || held.includes('admin') || (scope === 'read' && held.length > 0);
}

/** Opens a session with an API key, for all tabs. */
export async function signIn(apiKey: string): Promise<void> {
  await client.request({ method: 'POST', path: '/session', body: { apiKey } });
  await resume();
  tabs.postMessage('signed in');
}

/** Asks the server who has signed in. */
export async function resume(): Promise<void> {
  current.value = await client.apiKeys.current();
  signedOutBecause.value = '';
  state.value = 'signed in';
}

/** Ends this session, or all sessions of the person. Throws if Till does not respond. */
export async function signOut(from: 'here' | 'everywhere'): Promise<void> {
  reads.abort();
  reads = new AbortController();
  await client.request({ method: 'DELETE', path: from === 'here' ? '/session' : '/sessions' });
  forget('');
  tabs.postMessage('signed out');
}

function forget(because: string): void {
  signedOutBecause.value = because;
  current.value = undefined;
  state.value = 'signed out';
}

tabs.addEventListener('message', ({ data }) => {
  if (data === 'signed out') forget('');
  else if (state.value === 'signed out') state.value = 'unknown';
});
