import { isIP } from 'node:net';

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
  const groups = expand(bare);
  const [mark, high = 0, low = 0] = groups.slice(5);
  if (mark === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

const groupsOfAddress = 8;

/** The eight groups of an IPv6 address. */
function expand(address: string): readonly number[] {
  // A URL normalises every address, without dots.
  const hostname = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [left = [], right = []] = hostname
    .split('::')
    .map((side) => side.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: groupsOfAddress - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16));
}
