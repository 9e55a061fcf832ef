import { createClient } from '@redis/client';
import { withDeadline } from './deadline.ts';
import { isSentinelAddress } from './sentinel-address.ts';
import { findPrimary } from './sentinel-link.ts';

const connectTimeoutMs = 3_000;
const commandTimeoutMs = 3_000;

export interface RedisFacts {
  readonly name: 'Redis' | 'Valkey';
  /** Such as `7.2.5`. */
  readonly version: string;
  /** A replica takes no writes. */
  readonly isReplica: boolean;
}

/** Connects once, with limits, and changes nothing. */
export async function inspectRedis(url: string): Promise<RedisFacts> {
  const client = createClient(
    isSentinelAddress(url)
      ? await withDeadline(findPrimary(url), connectTimeoutMs, 'asking the sentinels')
      : { url, socket: { connectTimeout: connectTimeoutMs, reconnectStrategy: false } },
  );
  // The next command reports a connection that broke.
  client.on('error', () => {});
  try {
    await withDeadline(client.connect(), connectTimeoutMs, 'connecting');
    return factsOf(await withDeadline(client.info(), commandTimeoutMs, 'INFO'));
  } finally {
    if (client.isOpen) client.destroy();
  }
}

function factsOf(info: string): RedisFacts {
  const fields = new Map(
    info.split(/\r?\n/).map((line) => [line.split(':')[0], line.replace(/^[^:]*:/, '')]),
  );
  const valkey = fields.get('valkey_version');
  return {
    name: valkey === undefined ? 'Redis' : 'Valkey',
    version: valkey ?? fields.get('redis_version') ?? 'unknown',
    isReplica: fields.get('role') === 'slave',
  };
}
