import type { FastifyInstance } from 'fastify';
import type { Platform } from '#core/platform/platform.ts';
import type { ApiGuard, ApiKeyRing } from '#http/access/api-guard.ts';
import type { AuditLog } from '#operators/audit/audit-log.ts';
import { registerConsoleRoutes } from '#operators/console/console-routes.ts';
import { ConsoleAccess, publicAddress } from '#operators/console/sessions/console-access.ts';
import { registerSessionRoutes } from '#operators/console/sessions/session-routes.ts';
import { SessionService } from '#operators/console/sessions/session-service.ts';
import { SessionStore } from '#operators/console/sessions/session-store.ts';
import { IdentityProvider } from '#operators/console/sign-in/identity-provider.ts';
import { SignInCookie } from '#operators/console/sign-in/sign-in-cookie.ts';
import { callbackPath, registerSignInRoutes } from '#operators/console/sign-in/sign-in-routes.ts';
import type { KeyService } from '#operators/keys/key-service.ts';
import type { ConsoleConfig } from './config.ts';

interface ConsoleParts extends Pick<Platform, 'database' | 'clock' | 'logger'> {
  readonly config: ConsoleConfig;
  readonly timeZone: string;
  readonly ring: ApiKeyRing;
  readonly keys: KeyService;
  readonly audit: AuditLog;
  /** The port on which Till listens. Known once it listens. */
  readonly port: () => number;
}

/** The console: its sessions, and the function that adds its routes. The guard of the API uses the sessions. */
export function composeConsole(parts: ConsoleParts) {
  const { config, ring, keys: storedKeys, port } = parts;
  const { publicUrl, oidc, hasKeySignIn } = config;
  const [store, issuer] = [new SessionStore(), oidc?.issuer];
  const sessions = new SessionService({ ...parts, ...config, store, ring, storedKeys, issuer });
  const access = new ConsoleAccess(sessions, publicAddress(publicUrl, port));
  const registerRoutes = (app: FastifyInstance, guard: ApiGuard): void => {
    registerConsoleRoutes(app, {
      hasKeySignIn,
      hasSingleSignOn: oidc !== undefined,
      timeZone: parts.timeZone,
      reachDatabase: () => parts.database.reach(),
    });
    registerSessionRoutes(app, { ...parts, access, sessions, guard, hasKeySignIn });
    if (oidc === undefined || publicUrl === undefined) return;
    const provider = new IdentityProvider(oidc, `${publicUrl}${callbackPath}`);
    const cookie = new SignInCookie(oidc.clientSecret);
    registerSignInRoutes(app, { ...parts, access, sessions, guard, provider, cookie });
  };
  return { access, registerRoutes };
}
