import { isIP } from 'node:net';
import { resolve } from 'node:path';

/** Names of address ranges that the proxy library knows, in addition to addresses and CIDR blocks. */
const namedRanges = ['loopback', 'linklocal', 'uniquelocal'];
const hostPattern = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;

/**
 * Reads environment variables into values and collects every mistake, one line each, instead of stopping at the first.
 * An empty variable counts as unset, because compose files and shells turn a missing variable into an empty one.
 */
export class EnvironmentReader {
  readonly mistakes: string[] = [];
  readonly #environment: Readonly<Record<string, string | undefined>>;

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    this.#environment = environment;
  }

  has(name: string): boolean {
    return this.text(name) !== undefined;
  }

  text(name: string): string | undefined {
    const value = this.#environment[name]?.trim();
    return value === '' ? undefined : value;
  }

  /** Reports each variable once: a refused value is not also reported as missing. */
  missing(name: string, why: string): void {
    if (this.mistakes.some((mistake) => mistake.startsWith(`${name} `))) return;
    this.mistakes.push(`${name} is not set: ${why}`);
  }

  /** Reports a variable without which another one has no effect. */
  missingFor(name: string, other: string): void {
    this.missing(name, `set it, or unset ${other}, which has no effect without it`);
  }

  integer(name: string, range: { default: number; min: number; max: number }): number {
    const text = this.text(name);
    if (text === undefined) return range.default;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= range.min && value <= range.max) return value;
    return this.#refuse(
      name,
      quoted(text),
      `a whole number from ${range.min} to ${range.max}`,
      range.default,
    );
  }

  oneOf<const T extends string, Fallback extends T | undefined>(
    name: string,
    allowed: readonly T[],
    fallback: Fallback,
  ): T | Fallback {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = allowed.find((candidate) => candidate === text);
    return value ?? this.#refuse(name, quoted(text), `one of ${allowed.join(', ')}`, fallback);
  }

  host(name: string, fallback: string): string {
    const text = this.text(name);
    if (text === undefined) return fallback;
    if (isIP(text) !== 0 || hostPattern.test(text)) return text;
    return this.#refuse(
      name,
      quoted(text),
      'an IP address or a host name, such as 127.0.0.1 or 0.0.0.0',
      fallback,
    );
  }

  path(name: string, workingDir: string): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (text.includes('\0')) return this.#refuse(name, quoted(text), 'a path', undefined);
    return resolve(workingDir, text);
  }

  /**
   * The address of a server. Only its beginning is checked, because drivers accept more than valid URLs (a socket has
   * no host). A mistake quotes only that beginning, because the rest may contain a password. `without` is the value
   * that means "no server".
   */
  address(name: string, protocols: readonly string[], without?: string): string | undefined {
    const text = this.text(name);
    if (text === undefined || text === without) return undefined;
    const protocol = /^[a-z+]+:\/\/(?=.)/.exec(text)?.[0];
    if (protocol !== undefined && protocols.includes(protocol)) return text;
    const seen = protocol === undefined ? hidden(text) : `"${protocol}…"`;
    const other = without === undefined ? '' : `, or ${without}`;
    const allowed = `an address that begins with ${protocols.join(' or ')}${other}`;
    return this.#refuse(name, seen, allowed, undefined);
  }

  /** The origin of an HTTP server: no path, no credentials. */
  origin(name: string): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const url = URL.parse(text);
    if (url !== null && isOrigin(url)) return url.origin;
    const seen = url === null || url.username || url.password ? hidden(text) : quoted(text);
    return this.#refuse(name, seen, originForm, undefined);
  }

  origins(name: string): readonly string[] {
    const text = this.text(name);
    if (text === undefined) return [];
    const urls = text.split(',').map((part) => URL.parse(part.trim()));
    const origins = urls.flatMap((url) => (url !== null && isOrigin(url) ? [url.origin] : []));
    if (origins.length === urls.length) return origins;
    const hasSecret = urls.some((url) => url?.username || url?.password);
    const seen = hasSecret ? hidden(text) : quoted(text);
    return this.#refuse(name, seen, `${originForm}; several separated by commas`, []);
  }

  secret(name: string, rule: { pattern: RegExp; allowed: string }): string | undefined {
    const text = this.text(name);
    if (text === undefined || rule.pattern.test(text)) return text;
    return this.#refuse(name, hidden(text), rule.allowed, undefined);
  }

  secrets(name: string): readonly string[] {
    const allowed = 'non-empty secrets of visible characters, separated by commas';
    return this.#list(name, (secret) => /^[\x21-\x7e]+$/.test(secret), allowed, hidden);
  }

  addresses(name: string): readonly string[] {
    const allowed = `addresses or CIDR blocks separated by commas, or ${namedRanges.join(', ')}`;
    return this.#list(name, isAddressRange, allowed);
  }

  hosts(name: string): readonly string[] {
    // Names of containers may have an underscore.
    return this.#list(name, (host) => /^[\w.-]{1,253}$/.test(host), 'host names separated by commas');
  }

  #list(
    name: string,
    isAllowed: (part: string) => boolean,
    allowed: string,
    seen = quoted,
  ): readonly string[] {
    const text = this.text(name);
    if (text === undefined) return [];
    const parts = text.split(',').map((part) => part.trim());
    return parts.every(isAllowed) ? parts : this.#refuse(name, seen(text), allowed, []);
  }

  #refuse<T>(name: string, seen: string, allowed: string, fallback: T): T {
    this.mistakes.push(`${name} is ${seen}; allowed: ${allowed}`);
    return fallback;
  }
}

const originForm = 'http:// or https://, a host and an optional port, without a path';

function isOrigin({ protocol, pathname, search, hash, username, password }: URL): boolean {
  return /^https?:$/.test(protocol) && pathname === '/' && !search && !hash && !username && !password;
}

function isAddressRange(text: string): boolean {
  if (namedRanges.includes(text)) return true;
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

/** Cuts long values and escapes special characters, so that a mistake stays one readable line. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

function hidden(text: string): string {
  return `(hidden, ${text.length} characters)`;
}
