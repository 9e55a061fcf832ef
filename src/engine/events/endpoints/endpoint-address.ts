import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Whether addresses of private networks are allowed, and with them `http`. */
export interface AddressPolicy {
  readonly allowPrivate: boolean;
  /** Whether addresses of this machine are allowed, and with them `http`. */
  readonly allowLoopback?: boolean | undefined;
}

/** Allows every address. */
export const privateSetting = 'EVENT_ENDPOINTS_ALLOW_PRIVATE=true';

/** Some servers and proxies refuse longer URLs. */
export const urlLengthMax = 2_048;

/** Why an endpoint must not have this URL, as the end of a sentence. Undefined if only its host is unchecked. */
export function urlMistake(text: string, policy: AddressPolicy): string | undefined {
  const url = URL.parse(text);
  if (url === null) return 'must be a valid URL';
  const allowsHttp = policy.allowPrivate || (policy.allowLoopback === true && isThisMachine(url));
  if (url.protocol === 'http:' && !allowsHttp)
    return `must begin with https://. Set ${privateSetting} to allow http://`;
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return `must begin with https://${allowsHttp ? ' or http://' : ''}`;
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password';
  if (url.hash !== '' || text.includes('#')) return 'must not contain a fragment';
  if (url.port === '0') return 'must not have the port 0';
  return undefined;
}

/** The host of a URL that is an address itself. Undefined for a name. */
export function literalAddress({ hostname }: URL): string | undefined {
  // The URL parser has already normalized decimal, octal and hexadecimal forms of IPv4.
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) === 0 ? undefined : host;
}

/**
 * Why Till must not connect to this address, as the end of a sentence. Only addresses of the public internet are
 * allowed: others could reach services that trust their own network.
 */
export function addressMistake(
  address: string,
  { allowPrivate, allowLoopback = false }: AddressPolicy,
): string | undefined {
  if (allowPrivate) return undefined;
  const range = rangeOf(address);
  if (range === 'unicast' || (allowLoopback && range === 'loopback')) return undefined;
  return `${address} is in a range that is not public (${range}). Set ${privateSetting} to allow it`;
}

/** The name that every system has for itself. A name server may resolve it to any address. */
export const localName = 'localhost';

function isThisMachine(url: URL): boolean {
  const address = literalAddress(url);
  return address === undefined ? url.hostname === localName : rangeOf(address) === 'loopback';
}

/** Only these IPv6 addresses are assigned. Others can be notations of an IPv4 address, such as `::127.0.0.1`. */
const globalIpv6 = ipaddr.parseCIDR('2000::/3');

/** The name of the range of an address. IPv6 addresses that contain an IPv4 address have ranges of their own. */
function rangeOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  return range === 'unicast' && parsed.kind() === 'ipv6' && !parsed.match(globalIpv6) ? 'unassigned' : range;
}
