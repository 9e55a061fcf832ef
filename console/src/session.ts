import { computed, signal } from '@preact/signals';
import { ApiError } from './api/api-error.ts';
import { requestTimeoutMs } from './api/time-limit.ts';
import type { CurrentKey, Scope } from './api/types.ts';

/** Session storage ends with the tab. Only a tab that the browser makes as a copy of this one starts with its values. */
const storageName = 'till-api-key';

const stored = signal(sessionStorage.getItem(storageName));
/** Undefined until the server has accepted the key. */
const current = signal<CurrentKey | undefined>(undefined);

/** Why the last session ended, for the sign-in page. */
export const signedOutBecause = signal('');
export const apiKey = computed(() => stored.value);
export const currentKey = computed(() => current.value);

/** Whether the API key may do what needs this scope. The server decides; this only hides what it would refuse. */
export function can(scope: Scope): boolean {
  const held = current.value?.scopes ?? [];
  return held.includes(scope) || held.includes('admin') || (scope === 'read' && held.length > 0);
}

/** The characters of every API key. A browser cannot send a header with most others. */
const keyPattern = /^[\x21-\x7e]+$/;

/** Asks the server about a key, and keeps it for this tab if it is valid. */
export async function signIn(key: string): Promise<void> {
  if (!keyPattern.test(key)) throw ApiError.invalidKey();
  const response = await fetch('/api/v1/api-keys/current', {
    headers: { 'x-api-key': key },
    signal: AbortSignal.timeout(requestTimeoutMs),
  });
  if (!response.ok) throw await ApiError.of(response);
  current.value = await response.json();
  sessionStorage.setItem(storageName, key);
  signedOutBecause.value = '';
  stored.value = key;
}

export function signOut(because = ''): void {
  sessionStorage.removeItem(storageName);
  signedOutBecause.value = because;
  current.value = undefined;
  stored.value = null;
}
