import { promises as dns } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isIP } from 'node:net';
import { withDeadline } from '#core/platform/deadline.ts';
import {
  type AddressPolicy,
  addressMistake,
  literalAddress,
  localName,
  privateSetting,
  urlMistake,
} from './endpoint-address.ts';

/** Resolves a name to addresses. Rejects if there are none. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** Why nothing was sent, as the list of deliveries shows it. It does not reveal the address of a name. */
export const refusalTexts = {
  URL_REFUSED: 'Not sent: the URL must begin with https://, unless EVENT_ENDPOINTS_ALLOW_PRIVATE is true.',
  ADDRESS_REFUSED:
    'Not sent: the host of the URL has an address that is not public, and EVENT_ENDPOINTS_ALLOW_PRIVATE is not true.',
} as const;

type Refusal = keyof typeof refusalTexts;

export function isRefusal(error: string | null): error is Refusal {
  return error !== null && Object.hasOwn(refusalTexts, error);
}

/** For each of two attempts. A name server that takes longer rarely responds at all. */
const queryTimeoutMs = 2_000;
const queryAttemptsMax = 2;
/** How long the creation of an endpoint waits until its host name is resolved. */
const checkTimeoutMs = 5_000;

/**
 * DNS resolves public names directly: the system's resolver has few threads, so a few dead names would delay all
 * others. Private names may be known only to the system, for example from /etc/hosts.
 */
function systemResolve({ allowPrivate, allowLoopback = false }: AddressPolicy): Resolve {
  const lookUp: Resolve = async (host) =>
    (await dns.lookup(host, { all: true })).map(({ address }) => address);
  if (allowPrivate) return lookUp;
  const resolver = new dns.Resolver({ timeout: queryTimeoutMs, tries: queryAttemptsMax });
  return async (host) => {
    if (allowLoopback && host === localName) return lookUp(host);
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    const failure = found.find((result) => result.status === 'rejected');
    if (addresses.length === 0) throw failure?.reason;
    return addresses;
  };
}

/** Decides which addresses Till connects to. */
export class AddressResolver {
  readonly #policy: AddressPolicy;
  readonly #resolve: Resolve;
  /** Connections to the same host that begin at the same time share one query. */
  readonly #running = new Map<string, Promise<readonly string[]>>();

  constructor(policy: AddressPolicy, resolve: Resolve = systemResolve(policy)) {
    this.#policy = policy;
    this.#resolve = resolve;
  }

  /** Why Till must not connect to the host of this URL now, as the end of a sentence. */
  async mistakeOf(url: URL): Promise<string | undefined> {
    const literal = this.#literalMistake(url);
    if (literal !== undefined || literalAddress(url) !== undefined) return literal;
    try {
      await withDeadline(this.#allowed(url.hostname), checkTimeoutMs, 'resolving the host');
      return undefined;
    } catch (error) {
      // Naming the address or its range would reveal names of the private network to the caller.
      if (error instanceof RefusedAddress)
        return (
          'has a host that Till must not connect to: its name has an address that is not public. ' +
          `Set ${privateSetting} to allow it`
        );
      return 'has a host name that cannot be resolved now. Check the name';
    }
  }

  /**
   * Why Till sends nothing to this URL, before any name is resolved. The policy may be stricter than when the endpoint
   * was created. Also covers a host that is an address, for which `lookup` is not called.
   */
  refusalOf(url: URL): Refusal | undefined {
    if (urlMistake(url.href, this.#policy) !== undefined) return 'URL_REFUSED';
    return this.#literalMistake(url) === undefined ? undefined : 'ADDRESS_REFUSED';
  }

  /**
   * Resolves a name for a connection, and refuses it if any address is not allowed. The connection uses exactly these
   * addresses, so a name that later resolves to another address cannot bypass the check.
   */
  readonly lookup: LookupFunction = (host, options, done) => {
    this.#allowed(host).then(
      (addresses) => {
        const all = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = all;
        if (options.all === true || first === undefined) done(null, all);
        else done(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => done(error, []),
    );
  };

  /** Like `mistakeOf`, for a host that is an address. */
  #literalMistake(url: URL): string | undefined {
    const literal = literalAddress(url);
    const mistake = literal === undefined ? undefined : addressMistake(literal, this.#policy);
    return mistake && `has a host that Till must not connect to: ${mistake}`;
  }

  async #allowed(host: string): Promise<readonly string[]> {
    const running = this.#running.get(host) ?? this.#start(host);
    const addresses = await running;
    for (const address of addresses) {
      const mistake = addressMistake(address, this.#policy);
      if (mistake !== undefined) throw new RefusedAddress(mistake);
    }
    return addresses;
  }

  #start(host: string): Promise<readonly string[]> {
    const started = this.#resolve(host).finally(() => this.#running.delete(host));
    this.#running.set(host, started);
    return started;
  }
}

class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress';
  readonly code: Refusal = 'ADDRESS_REFUSED';
}
