import { computed, signal } from '@preact/signals';
import { type CurrentApiKey, Till, TillTimeoutError } from '../../client/src/index.ts';

export type Scope = CurrentApiKey['scopes'][number];

/** Session storage ends with the tab. Only a duplicate of the tab starts with its values. */
const storageName = 'till-api-key';

const storedKey = sessionStorage.getItem(storageName);
const client = signal(storedKey === null ? null : connect(storedKey));
/** Undefined until the server has accepted the API key. */
const current = signal<CurrentApiKey | undefined>(undefined);

/** Why the last session ended, for the sign-in page. */
export const signedOutBecause = signal('');
/** False after a request got no response, until one does. */
export const isReachable = signal(true);
export const isSignedIn = computed(() => client.value !== null);
export const currentKey = computed(() => current.value);

/** The API, with the API key of this session. */
export function till(): Till {
  if (client.value === null) throw new Error('no user is signed in');
  return client.value;
}

/** Whether the API key has this scope. The server decides; this only hides actions that it would refuse. */
export function can(scope: Scope): boolean {
  const held = current.value?.scopes ?? [];
  return held.includes(scope) || held.includes('admin') || (scope === 'read' && held.length > 0);
}

/**
 * Asks the server about an API key, and keeps it for this tab if it is valid. Throws a TypeError if it is malformed.
 */
export async function signIn(key: string): Promise<void> {
  const next = connect(key);
  current.value = await next.apiKeys.current();
  sessionStorage.setItem(storageName, key);
  signedOutBecause.value = '';
  client.value = next;
}

/** After a reload of the tab, the API key is known, but not its scopes. */
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
    // The user sees a failure at once and decides. A load without a response is repeated once there is a connection.
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
      // An API key that is no longer valid ends the session.
      if (response.status === 401 && client.value === own) signOut('The API key is no longer valid.');
      return response;
    },
  });
  return own;
}
