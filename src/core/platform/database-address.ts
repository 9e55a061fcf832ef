import { parseHostList } from './host-list.ts';

/** What a server must be before it is used. `any` is only for an address with one host. */
const requirements = ['any', 'read-write', 'primary'] as const;
/** Whether an address leads to the primary, or to a replica of it. */
export type ServerKind = 'primary' | 'replica';

/** One server of an address. */
export interface DatabaseServer {
  /** Its host and port, without credentials. */
  readonly name: string;
  /** An address that the driver understands. */
  readonly url: string;
}

export interface DatabaseAddress {
  /** In the order of the address; at least one. */
  readonly servers: readonly DatabaseServer[];
  readonly requires: (typeof requirements)[number] | 'standby';
}

/** A mistake in an address. The message continues the name of a setting, and contains no credentials. */
export class DatabaseAddressError extends Error {}

/** Credentials before the last `@`, then hosts, then everything from the path on. In a URL, all three are encoded. */
const addressPattern = /^([a-z]+:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/s;

/**
 * Reads an address with one or several hosts, as libpq does:
 * `host1:5432,host2/database?target_session_attrs=read-write`. The driver knows only one host. Several require a server
 * that takes writes, unless the address says so itself. A replica must always be a standby.
 */
export function parseDatabaseAddress(url: string, kind: ServerKind = 'primary'): DatabaseAddress {
  const [, protocol = '', credentials = '', hosts = '', rest = ''] = addressPattern.exec(url) ?? [];
  const parameters = new URLSearchParams(/\?([^#]*)/.exec(rest)?.[1]);
  const names = hosts.split(',');
  const required = parameters.get('target_session_attrs');
  const requires =
    kind === 'replica' ? requireStandby(required) : readRequirement(required, names.length > 1);
  if (parameters.get('host')?.includes(',') || parameters.get('port')?.includes(','))
    throw new DatabaseAddressError(
      'has several hosts as a parameter; allowed: before the database, as in host1:5432,host2:5432/till',
    );
  // The driver reads a single host by itself, with forms that a list cannot have, such as the folder of a socket.
  if (names.length === 1) return { servers: [{ name: hosts, url }], requires };
  // Quotes nothing, because a malformed host may be part of a password.
  if (parseHostList(hosts) === undefined)
    throw new DatabaseAddressError(
      'has a malformed host; allowed: hosts separated by commas, each with an optional port: host1:5432,[::1]:5433,host3',
    );
  const servers = names.map((name) => ({ name, url: `${protocol}${credentials}${name}${rest}` }));
  return { servers, requires };
}

function readRequirement(value: string | null, hasSeveral: boolean): DatabaseAddress['requires'] {
  if (value === null) return hasSeveral ? 'read-write' : 'any';
  const known = requirements.find((requirement) => requirement === value);
  if (known !== undefined && !(known === 'any' && hasSeveral)) return known;
  throw new DatabaseAddressError(
    `has the target_session_attrs ${JSON.stringify(value.slice(0, 20))}; allowed: read-write or primary, because Till writes`,
  );
}

function requireStandby(value: string | null): 'standby' {
  if (value === null || value === 'standby') return 'standby';
  throw new DatabaseAddressError(
    `has the target_session_attrs ${JSON.stringify(value.slice(0, 20))}; allowed: standby, because a replica is one`,
  );
}
