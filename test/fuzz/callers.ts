import { type Scope, scopes } from '#core/model/api-key.ts';
import { consoleHeaders, openSession } from '../support/console-session.ts';
import { nextAddress } from './recipes/everywhere.ts';
import type { Tills } from './tills.ts';
import type { WireRequest } from './wire-client.ts';

type Headers = WireRequest['headers'];

export interface FuzzCaller {
  readonly name: string;
  /** The scopes of the operations that it may use. Null if it has not said who it is. */
  readonly allowed: readonly Scope[] | null;
  readonly headers: () => Headers;
  /** Before the path of an operation. */
  readonly prefix: string;
}

/** The scopes that each implies, written down apart from the service's own rule. */
const implied: Readonly<Record<Scope, readonly Scope[]>> = {
  read: ['read'],
  write: ['read', 'write', 'usage'],
  usage: ['usage'],
  refund: ['read', 'refund'],
  operate: ['read', 'operate'],
  admin: scopes,
};

/** An API key of each scope, a session of the console, and callers without a valid API key. */
export async function createCallers({
  keys,
  pair,
}: Pick<Tills, 'keys' | 'pair'>): Promise<readonly FuzzCaller[]> {
  const cookie = await openSession(pair[0].url, keys.write);
  const session: Headers = [['cookie', cookie], ...Object.entries(consoleHeaders)];
  // Only so many without a valid API key are refused for one address.
  const stranger = (more: Headers) => (): Headers => [['x-forwarded-for', nextAddress()], ...more];
  return [
    ...scopes.map((scope) => ({
      name: scope,
      allowed: implied[scope],
      headers: (): Headers => [['x-api-key', keys[scope]]],
      prefix: '',
    })),
    { name: 'session', allowed: implied.write, headers: () => session, prefix: '/console' },
    { name: 'no key', allowed: null, headers: stranger([]), prefix: '' },
    { name: 'wrong key', allowed: null, headers: stranger([['x-api-key', 'wrong']]), prefix: '' },
    {
      name: 'no session',
      allowed: null,
      headers: stranger(Object.entries(consoleHeaders)),
      prefix: '/console',
    },
  ];
}
