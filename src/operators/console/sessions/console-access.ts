import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '#core/model/api-key.ts';
import { signedOut } from '#http/access/api-guard.ts';
import { cookieOf, requireConsole } from '#http/access/console-calls.ts';
import type { SessionService } from './session-service.ts';

/** Visible tabs always wait for events. These requests do not extend the idle time. */
const followedPath = '/api/v1/events';
/**
 * A header of requests that pages send without a person at the keyboard. These requests do not extend the idle time
 * either.
 */
const backgroundHeader = 'x-till-background';

/** The address at which people open Till. It decides the origin and the cookies. */
interface PublicAddress {
  /** The origins of the console. Several only if `PUBLIC_URL` is not set. */
  readonly origins: () => readonly string[];
  readonly isSecure: boolean;
}

/** Connects the sessions with requests: the cookie, and the check that the console has sent a request. */
export class ConsoleAccess {
  readonly #sessions: SessionService;
  readonly #address: PublicAddress;

  constructor(sessions: SessionService, address: PublicAddress) {
    this.#sessions = sessions;
    this.#address = address;
  }

  /** Fails unless the console itself has sent the request. */
  require(request: FastifyRequest): void {
    requireConsole(request, this.#address.origins());
  }

  async admit(request: FastifyRequest): Promise<Caller> {
    this.require(request);
    const token = this.tokenOf(request);
    const isUse = request.route.url !== followedPath && request.headers[backgroundHeader] !== '1';
    const caller = token === undefined ? undefined : await this.#sessions.find(token, { isUse });
    if (caller === undefined) throw signedOut();
    return caller;
  }

  tokenOf(request: FastifyRequest): string | undefined {
    return this.cookieOf(request, 'till');
  }

  cookieOf(request: FastifyRequest, name: string): string | undefined {
    return cookieOf(request, this.#cookieName(name));
  }

  setToken(reply: FastifyReply, token: string): void {
    this.setCookie(reply, 'till', token, 'SameSite=Strict');
  }

  clearToken(reply: FastifyReply): void {
    this.setCookie(reply, 'till', '', 'SameSite=Strict; Max-Age=0');
  }

  setCookie(reply: FastifyReply, name: string, value: string, options: string): void {
    const secure = this.#address.isSecure ? '; Secure' : '';
    // A second call adds a second header.
    reply.header('set-cookie', `${this.#cookieName(name)}=${value}; Path=/; HttpOnly${secure}; ${options}`);
  }

  /** Browsers keep a cookie with the prefix only if this host has set it over TLS, for all paths. */
  #cookieName(name: string): string {
    return this.#address.isSecure ? `__Host-${name}` : name;
  }
}

/** Without `PUBLIC_URL`, only loopback origins are allowed. */
export function publicAddress(publicUrl: string | undefined, port: () => number): PublicAddress {
  if (publicUrl !== undefined) {
    const origins = [publicUrl];
    return { origins: () => origins, isSecure: publicUrl.startsWith('https:') };
  }
  const hosts = ['localhost', '127.0.0.1', '[::1]'];
  return { origins: () => hosts.map((host) => new URL(`http://${host}:${port()}`).origin), isSecure: false };
}
