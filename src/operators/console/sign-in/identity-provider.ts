import * as openid from 'openid-client';
import type { Scope } from '#core/model/api-key.ts';
import { isComplete, personOfClaims, type SignInResult } from './person-of-claims.ts';

/** A response of the provider takes a second at most. A sign-in makes four requests, within the limit of 30 s. */
const timeoutSeconds = 5;
/** Providers change their addresses and keys rarely, and announce both in their metadata. */
const metadataMs = 600_000;
/** The length is that of the standard. The database stores no U+0000. */
const subjectPattern = /^\P{Cc}{1,255}$/u;

export interface OidcSettings {
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  readonly groupsClaim: string;
  /** The scopes of each group. */
  readonly roles: ReadonlyMap<string, readonly Scope[]>;
}

/** Why a sign-in failed. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
  readonly kind: 'unavailable' | 'refused';

  /** `reason` is for the log. Of the provider's response it contains only the error code. */
  constructor(kind: 'unavailable' | 'refused', reason: string) {
    super(reason);
    this.kind = kind;
  }
}

interface Secrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** The company's OpenID Connect provider: authorisation code with PKCE. Tokens are used once here, and never stored. */
export class IdentityProvider {
  readonly #settings: OidcSettings;
  readonly #redirectUri: string;
  #discovered: { readonly config: Promise<openid.Configuration>; readonly atMs: number } | undefined;

  constructor(settings: OidcSettings, redirectUri: string) {
    this.#settings = settings;
    this.#redirectUri = redirectUri;
  }

  /** Returns the address at the provider, and the secrets that the cookie of the sign-in keeps. */
  async begin(): Promise<{ readonly url: string; readonly secrets: Secrets }> {
    const config = await this.#discover();
    const secrets = {
      state: openid.randomState(),
      nonce: openid.randomNonce(),
      verifier: openid.randomPKCECodeVerifier(),
    };
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: this.#redirectUri,
      scope: this.#settings.scope,
      code_challenge: await openid.calculatePKCECodeChallenge(secrets.verifier),
      code_challenge_method: 'S256',
      state: secrets.state,
      nonce: secrets.nonce,
    });
    return { url: url.href, secrets };
  }

  /**
   * The person whom the provider has signed in. `query` is that of the address to which the provider sent the browser
   * back.
   */
  async complete(query: string, { state, nonce, verifier }: Secrets): Promise<SignInResult> {
    const config = await this.#discover();
    try {
      const tokens = await openid.authorizationCodeGrant(config, new URL(`${this.#redirectUri}${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const own = tokens.claims();
      if (own === undefined) throw new SignInError('refused', 'no ID token');
      if (!subjectPattern.test(own.sub)) throw new SignInError('refused', 'malformed subject');
      const { groupsClaim } = this.#settings;
      const hasMore =
        !isComplete(own, groupsClaim) && config.serverMetadata().userinfo_endpoint !== undefined;
      const more = hasMore ? await openid.fetchUserInfo(config, tokens.access_token, own.sub) : {};
      return personOfClaims(own.iss, own.sub, { ...more, ...own }, this.#settings);
    } catch (error) {
      throw toSignInError(error);
    }
  }

  /** Requests share the metadata. A failed attempt is not kept. */
  #discover(): Promise<openid.Configuration> {
    const known = this.#discovered;
    if (known !== undefined && performance.now() - known.atMs < metadataMs) return known.config;
    const config = this.#readMetadata();
    const discovered = { config, atMs: performance.now() };
    this.#discovered = discovered;
    config.catch(() => {
      if (this.#discovered === discovered) this.#discovered = undefined;
    });
    return config;
  }

  async #readMetadata(): Promise<openid.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    // The settings allow http only on this machine.
    const insecure = issuer.protocol === 'http:' ? [openid.allowInsecureRequests] : [];
    const options = { timeout: timeoutSeconds, execute: [...insecure, openid.enableNonRepudiationChecks] };
    try {
      return await openid.discovery(issuer, clientId, clientSecret, authenticate(clientSecret), options);
    } catch (error) {
      throw new SignInError('unavailable', reasonOf(error));
    }
  }
}

/** Uses `client_secret_basic` if the provider supports it or lists no methods, and `client_secret_post` otherwise. */
function authenticate(clientSecret: string): openid.ClientAuth {
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isBasic = methods.includes('client_secret_basic');
    const send = isBasic ? openid.ClientSecretBasic(clientSecret) : openid.ClientSecretPost(clientSecret);
    send(server, ...request);
  };
}

/** A refusal concerns this sign-in. Any other error means that the provider does not work. */
function toSignInError(error: unknown): SignInError {
  if (error instanceof SignInError) return error;
  const isRefusal =
    error instanceof openid.AuthorizationResponseError ||
    ((error instanceof openid.ResponseBodyError || error instanceof openid.WWWAuthenticateChallengeError) &&
      error.status < 500) ||
    (error instanceof openid.ClientError && refusals.test(error.code ?? ''));
  return new SignInError(isRefusal ? 'refused' : 'unavailable', reasonOf(error));
}

/** The codes of checks that failed: of the state, the nonce, the signature, the times and the form of a response. */
const refusals = /^OAUTH_(INVALID_RESPONSE|(JWT|JSON|KEY)_\w+_FAILED)$/;

/** The message or the cause of an error may contain a token, so the log gets only its code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code, error: oauthError } = error as { readonly code?: unknown; readonly error?: unknown };
  return [error.name, code, oauthError].filter((part) => typeof part === 'string').join(' ');
}
