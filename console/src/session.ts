import { computed, signal } from '@preact/signals';
import { ApiError } from './api/api-error.ts';
import type { CurrentKey, Scope } from './api/types.ts';

/** Session storage ends with the tab, and no other tab reads it. */
const storageName = 'till-api-key';

/** Browsers refuse to send other text in a header. */
const canBeKey = /^[\x21-\x7e]+$/;

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

/** Asks the server about a key, and keeps it for this tab if it is valid. */
export async function signIn(key: string): Promise<void> {
  if (!canBeKey.test(key)) throw ApiError.unknownKey();
  const response = await fetch('/api/v1/api-keys/current', { headers: { 'x-api-key': key } });
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
