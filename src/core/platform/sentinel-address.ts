import { parseHostList } from './host-list.ts';

const sentinelPort = 26_379;
/** As for databases: credentials before the last `@`. */
const pattern = /^(rediss?)\+sentinel:\/\/([^/?#]*@)?([^/?#]+)\/([^/?#]+)(?:\/(\d{1,4}))?(?:\?([^#]*))?$/;

export interface SentinelAddress {
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  /** The name under which the sentinels know the servers. */
  readonly name: string;
  readonly database: number;
  readonly hasTls: boolean;
  /** The credentials of the Redis servers. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** The password of the sentinels themselves, which usually have none. */
  readonly sentinelPassword: string | undefined;
}

/** How an address with sentinels must look. */
export const sentinelForm =
  'redis+sentinel:// or rediss+sentinel://, then sentinels, the name of the primary and an optional database: ' +
  'redis+sentinel://:password@host1:26379,host2:26379/mymaster/0';

export function isSentinelAddress(url: string): boolean {
  return /^rediss?\+sentinel:/.test(url);
}

/** Undefined if it is malformed. */
export function parseSentinelAddress(url: string): SentinelAddress | undefined {
  const [matched, protocol, credentials = '', hosts = '', name = '', database = '0', query] =
    pattern.exec(url) ?? [];
  const sentinels = parseHostList(hosts);
  if (matched === undefined || sentinels === undefined) return undefined;
  const [username, ...password] = credentials.slice(0, -1).split(':');
  return {
    sentinels: sentinels.map(({ host, port = sentinelPort }) => ({ host, port })),
    name: decoded(name) ?? name,
    database: Number(database),
    hasTls: protocol === 'rediss',
    username: decoded(username),
    password: decoded(password.join(':')),
    sentinelPassword: new URLSearchParams(query).get('sentinelPassword') ?? undefined,
  };
}

/** Undefined if there is nothing. Text that is not encoded is taken as it is. */
function decoded(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
