import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import type { OidcSettings } from '#operators/console/sign-in/identity-provider.ts';
import type { Lifetime } from './backend.ts';

/** The people of the provider, by the name with which they sign in there. */
const people: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ada: { email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace', groups: ['admins'] },
  grace: { email: 'grace@example.com', email_verified: true, groups: ['support', 'others'] },
  eve: { email: 'eve@example.com', email_verified: true, name: 'Eve', groups: ['others'] },
  unverified: { email: 'new@example.com', email_verified: false, groups: ['admins'] },
  odd: { email: 'odd@example.com', name: ` O\u0000dd\n${'x'.repeat(300)}`, groups: ['support'] },
  unstorable: { email: 'odd\u0000@example.com', groups: ['support'] },
  'sub\u0000ject': { email: 'odd@example.com', groups: ['support'] },
  nameless: { name: 'No Mail', groups: ['admins'] },
};

export interface TestIdentityProvider {
  readonly url: string;
  readonly settings: OidcSettings;
  /** Every request that Till or a browser sent, as its method and path. */
  readonly requests: readonly string[];
  /** The responses of the token endpoint, which contain the tokens. */
  readonly tokens: readonly string[];
  /** Accepts connections, and sends no response any more. */
  hang(): void;
  /** Revokes tokens as soon as it has issued them, like a provider to which a code is sent twice. */
  revokeTokens(): void;
  /**
   * What the provider does with a person who is sent to this address and signs in: the address to which it sends them
   * back.
   */
  signIn(authorizationUrl: string, name: string): Promise<string>;
}

const { privateKey: signingKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const artifacts = ['AccessToken', 'AuthorizationCode', 'Grant', 'IdToken', 'Interaction', 'Session'];

const clientSecret = 'client-secret-of-till-0123456789';

/** A real OpenID Connect provider on this machine. `showsClaims`: its ID tokens contain all claims. */
export async function startIdentityProvider(
  life: Pick<Lifetime, 'after'>,
  { redirectUri, showsClaims = false }: { readonly redirectUri: string; readonly showsClaims?: boolean },
): Promise<TestIdentityProvider> {
  const requests: string[] = [];
  const tokens: string[] = [];
  let [isHanging, isRevoking] = [false, false];
  let handle = (_request: IncomingMessage, response: ServerResponse): void => void response.end();
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (isHanging) return;
    if (isRevoking && request.url?.startsWith('/me')) delete request.headers.authorization;
    if (request.url?.startsWith('/token')) keepBody(response, tokens);
    handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  life.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = createProvider(url, redirectUri, showsClaims);
  const answer = provider.callback();
  handle = (request, response) => {
    if (request.url?.startsWith('/interaction/')) void interact(provider, request, response);
    else answer(request, response);
  };
  return {
    url,
    requests,
    tokens,
    hang: () => {
      isHanging = true;
    },
    revokeTokens: () => {
      isRevoking = true;
    },
    settings: {
      issuer: new URL(url),
      clientId: 'till',
      clientSecret,
      scope: 'openid email profile',
      groupsClaim: 'groups',
      roles: new Map([
        ['admins', ['admin']],
        ['support', ['read', 'refund']],
      ]),
    },
    signIn: (authorizationUrl, name) => walk(url, authorizationUrl, name),
  };
}

function createProvider(url: string, redirectUri: string, showsClaims: boolean): Provider {
  const scope = 'openid email profile';
  const provider: Provider = new Provider(url, {
    clients: [{ client_id: 'till', client_secret: clientSecret, redirect_uris: [redirectUri] }],
    cookies: { keys: ['cookie-key'] },
    // Settings that it would otherwise warn about.
    adapter: TransientAdapter,
    jwks: { keys: [{ ...signingKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    ttl: Object.fromEntries(artifacts.map((artifact) => [artifact, 600])),
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    conformIdTokenClaims: !showsClaims,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, sub: string) => ({
      accountId: sub,
      claims: async () => ({ sub, ...people[sub] }),
    }),
    // Nobody is asked for consent within a company.
    loadExistingGrant: async ({ oidc }: { oidc: { session: { accountId: string } } }) => {
      const grant = new provider.Grant({ accountId: oidc.session.accountId, clientId: 'till' });
      grant.addOIDCScope(scope);
      await grant.save();
      return grant;
    },
  });
  return provider;
}

interface Artifact {
  consumed?: number;
  readonly uid?: string;
  readonly grantId?: string;
}

/** What the provider remembers. */
class TransientAdapter {
  static readonly #artifacts = new Map<string, Artifact>();
  readonly #model: string;

  constructor(model: string) {
    this.#model = model;
  }

  async upsert(id: string, artifact: Artifact): Promise<void> {
    TransientAdapter.#artifacts.set(`${this.#model} ${id}`, artifact);
  }

  async find(id: string): Promise<Artifact | undefined> {
    return TransientAdapter.#artifacts.get(`${this.#model} ${id}`);
  }

  async findByUid(uid: string): Promise<Artifact | undefined> {
    return [...TransientAdapter.#artifacts.values()].find((artifact) => artifact.uid === uid);
  }

  async consume(id: string): Promise<void> {
    const artifact = await this.find(id);
    if (artifact !== undefined) artifact.consumed = Date.now();
  }

  async destroy(id: string): Promise<void> {
    TransientAdapter.#artifacts.delete(`${this.#model} ${id}`);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [id, artifact] of TransientAdapter.#artifacts)
      if (artifact.grantId === grantId) TransientAdapter.#artifacts.delete(id);
  }
}

const form = `<!doctype html><html lang="en"><head><title>Example login</title></head><body><main><h1>Example login</h1>
  <form method="post"><label>Name <input name="name"></label> <button>Continue</button></form></main></body></html>`;

/** The page on which people sign in: a name is enough. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/html' }).end(form);
    return;
  }
  let body = '';
  for await (const part of request) body += String(part);
  const accountId = new URLSearchParams(body).get('name') ?? '';
  const result = accountId in people ? { login: { accountId } } : { error: 'access_denied' };
  await provider.interactionFinished(request, response, result);
}

function keepBody(response: ServerResponse, into: string[]): void {
  const end = response.end.bind(response);
  // Node's type has several forms. The provider uses the one with the whole body.
  response.end = ((body: unknown) => {
    into.push(String(body));
    return end(body);
  }) as typeof response.end;
}

/** Follows the redirects of the provider like a browser, with its cookies, and signs in on its page. */
async function walk(url: string, authorizationUrl: string, name: string): Promise<string> {
  const cookies = new Map<string, string>();
  const visit = async (address: string, init: RequestInit = {}): Promise<string> => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const response = await fetch(address, {
      ...init,
      redirect: 'manual',
      headers: { ...init.headers, cookie },
    });
    for (const text of response.headers.getSetCookie()) {
      const [pair = ''] = text.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${response.status} at ${address}: ${await response.text()}`);
    return new URL(location, url).href;
  };
  let address = await visit(authorizationUrl);
  if (address.includes('/interaction/')) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    address = await visit(address, { method: 'POST', headers, body: `name=${encodeURIComponent(name)}` });
    address = await visit(address);
  }
  return address;
}
