import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The group of addresses that the rate limit counts together. The owner of one IPv6 address usually has all 2^64 of its
 * network, and could use another one for every request. IPv4 addresses are scarce, so each counts alone, in both
 * notations.
 */
export function addressGroup(address: string): string {
  const [bare = ''] = address.split('%');
  const version = isIP(bare);
  // A proxy may pass on any text; texts that are not addresses share one count.
  if (version === 0) return 'unknown';
  if (version === 4) return bare;
  const parsed = ipaddr.process(bare);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
