import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';
import type { NewAuditEntry } from '#core/model/audit-entry.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { ApiGuard } from '#http/access/api-guard.ts';
import type { ConsoleAccess } from '../sessions/console-access.ts';
import { refusedSignIn, senderOf } from '../sessions/session-routes.ts';
import type { SessionService } from '../sessions/session-service.ts';
import { type IdentityProvider, SignInError } from './identity-provider.ts';
import { type SignInCookie, signInMs } from './sign-in-cookie.ts';
import { type SignInProblem, sendSignInProblem, statusOf } from './sign-in-page.ts';

export const callbackPath = '/console/sign-in/callback';
const cookieName = 'till-sign-in';

interface SignInRouteParts extends Pick<Platform, 'clock' | 'logger'> {
  readonly access: ConsoleAccess;
  readonly sessions: SessionService;
  readonly provider: IdentityProvider;
  readonly cookie: SignInCookie;
  readonly guard: Pick<ApiGuard, 'countRefusal' | 'refuseGuesses'>;
  readonly audit: { writeAlone(entry: NewAuditEntry): Promise<void> };
}

/** Single sign-on: sends people to the identity provider, and opens a session when they return. */
export function registerSignInRoutes(app: FastifyInstance, parts: SignInRouteParts): void {
  const { access, provider, cookie, clock } = parts;
  const schema = { hide: true };
  app.get<{ Querystring: { readonly to?: unknown } }>(
    '/console/sign-in',
    { schema },
    async (request, reply) => {
      try {
        const { url, secrets } = await request.server.openRequests.wait(reply, () => provider.begin());
        const signIn = { ...secrets, to: returnPath(request.query.to), startedAtMs: clock.now().getTime() };
        // Strict cookies are not sent with the request that returns from the provider.
        const options = `SameSite=Lax; Max-Age=${signInMs / 1_000}`;
        access.setCookie(reply, cookieName, cookie.write(signIn), options);
        return reply.redirect(url, 303);
      } catch (error) {
        return sendSignInProblem(reply, problemOf(error, request, parts.logger));
      }
    },
  );
  app.get(callbackPath, { schema }, async (request, reply) => {
    access.setCookie(reply, cookieName, '', 'SameSite=Lax; Max-Age=0');
    const problem = await complete(request, reply, parts);
    return problem === undefined ? reply : sendSignInProblem(reply, problem);
  });
}

/** Opens the session and redirects the person to their page, or returns why it cannot. */
async function complete(
  request: FastifyRequest,
  reply: FastifyReply,
  { access, sessions, provider, cookie, guard, audit, clock, logger }: SignInRouteParts,
): Promise<SignInProblem | undefined> {
  const value = access.cookieOf(request, cookieName);
  const signIn = value === undefined ? undefined : cookie.read(value, clock.now().getTime());
  const refuse = async (problem: SignInProblem, email: string | null = null) => {
    await audit.writeAlone(refusedSignIn(senderOf(request), statusOf(problem), email));
    await guard.countRefusal(request);
    return problem;
  };
  // Anyone can send such a request, so it gets no audit entry.
  if (signIn === undefined) return 'expired';
  try {
    await guard.refuseGuesses(request);
    if (!(await sessions.useSignIn(signIn.state, new Date(signIn.startedAtMs + signInMs))))
      return await refuse('expired');
    const query = request.url.replace(/^[^?]*/, '');
    const admission = await request.server.openRequests.wait(reply, () => provider.complete(query, signIn));
    if ('refused' in admission) return await refuse(admission.refused, admission.email);
    const token = await sessions.open(admission, senderOf(request), access.tokenOf(request));
    access.setToken(reply, token);
    reply.redirect(returnPath(signIn.to), 303);
    return undefined;
  } catch (error) {
    const problem = problemOf(error, request, logger);
    return problem === 'unavailable' || problem === 'limited' ? problem : refuse(problem);
  }
}

/** The log gets no text of the request and no token. */
function problemOf(error: unknown, { id: requestId }: FastifyRequest, logger: Logger): SignInProblem {
  if (error instanceof Failure && error.code === 'rate_limited') return 'limited';
  if (!(error instanceof SignInError)) throw error;
  logger.warn({ requestId, reason: error.message, kind: error.kind }, 'sign-in not completed');
  return error.kind;
}

const home = '/console';
/** No page of the console has a longer address, and the cookie of a sign-in must stay small. */
const lengthMax = 1_000;
/** Paths below the console that are not pages. */
const notPages = /^\/console\/(api|assets|session|sessions|sign-in)(\/|$)/;
const ownOrigin = 'http://console.invalid';

/**
 * Where a person continues after the sign-in: the page of the console that they asked for, or its first page. No text
 * leads to another site.
 */
export function returnPath(to: unknown): string {
  if (typeof to !== 'string' || to.length > lengthMax || !/^\/console([/?]|$)/.test(to)) return home;
  // Browsers read a backslash as a slash, and skip control characters.
  if (/[\\\p{Cc}]/u.test(to)) return home;
  // Parsing resolves dot segments, including encoded ones.
  const url = URL.parse(to, ownOrigin);
  if (url === null || url.origin !== ownOrigin || !/^\/console(\/|$)/.test(url.pathname)) return home;
  return notPages.test(url.pathname) || /\/\/|%2f|%5c/i.test(url.pathname) ? home : url.pathname + url.search;
}
