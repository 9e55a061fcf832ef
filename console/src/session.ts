import { computed, signal } from '@preact/signals';
import { type CurrentApiKey, Till, TillTimeoutError } from '../../client/src/index.ts';

export type Scope = CurrentApiKey['scopes'][number];

/** Session storage ends with the tab. Only a tab that the browser makes as a copy of this one starts with its values. */
const storageName = 'till-api-key';

const storedKey = sessionStorage.getItem(storageName);
const client = signal(storedKey === null ? null : connect(storedKey));
/** Undefined until the server has accepted the key. */
const current = signal<CurrentApiKey | undefined>(undefined);

/** Why the last session ended, for the sign-in page. */
export const signedOutBecause = signal('');
/** False after a request got no response, until one does. */
export const isReachable = signal(true);
export const isSignedIn = computed(() => client.value !== null);
export const currentKey = computed(() => current.value);

/** The API, with the key of this session. */
export function till(): Till {
  if (client.value === null) throw new Error('no one is signed in');
  return client.value;
}

/** Whether the API key may do what needs this scope. The server decides; this only hides what it would refuse. */
export function can(scope: Scope): boolean {
  const held = current.value?.scopes ?? [];
  return held.includes(scope) || held.includes('admin') || (scope === 'read' && held.length > 0);
}

/** Asks the server about a key, and keeps it for this tab if it is valid. Throws a TypeError if it cannot be a key. */
export async function signIn(key: string): Promise<void> {
  const next = connect(key);
  current.value = await next.apiKeys.current();
  sessionStorage.setItem(storageName, key);
  signedOutBecause.value = '';
  client.value = next;
}

/** After a reload of the tab: the key is known, and what it may do is not. */
export async function resume(): Promise<void> {
  current.value = await till().apiKeys.current();
}

export function signOut(because = ''): void {
  sessionStorage.removeItem(storageName);
  signedOutBecause.value = because;
  current.value = undefined;
  client.value = null;
}

function connect(apiKey: string): Till {
  const own: Till = new Till({
    url: location.origin,
    apiKey,
    // A person sees a failure at once and decides. What got no response is loaded again when there is one.
    retries: 0,
    fetch: async (input, init) => {
      // Without `no-store`, a tab would wait for the same request of another tab.
      const options: RequestInit = { ...init, cache: 'no-store', credentials: 'omit' };
      const response = await fetch(input, options).catch((error: unknown) => {
        const isStopped = init?.signal?.aborted === true && !(init.signal.reason instanceof TillTimeoutError);
        if (!isStopped) isReachable.value = false;
        throw error;
      });
      isReachable.value = true;
      // A key that is no longer valid ends the session.
      if (response.status === 401 && client.value === own) signOut('The API key is no longer valid.');
      return response;
    },
  });
  return own;
}
