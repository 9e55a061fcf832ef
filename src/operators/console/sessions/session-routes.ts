import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { Failure } from '#core/errors.ts';
import type { NewAuditEntry, Sender } from '#core/model/audit-entry.ts';
import { Type } from '#core/platform/schemas.ts';
import { type ApiGuard, sessionProof, signedOut } from '#http/access/api-guard.ts';
import type { ConsoleAccess } from './console-access.ts';
import type { SessionService } from './session-service.ts';

/** Anyone may send it, and an API key has 256 characters at most. */
const signInBytesMax = 2_048;
const SignInBody = Type.Object({ apiKey: Type.String({ maxLength: 256 }) }, { additionalProperties: false });

interface SessionRouteParts {
  readonly access: ConsoleAccess;
  readonly sessions: SessionService;
  readonly guard: Pick<ApiGuard, 'identify' | 'count' | 'countRefusal'>;
  readonly audit: { writeAlone(entry: NewAuditEntry): Promise<void> };
  /** Whether an API key opens a session. */
  readonly hasKeySignIn: boolean;
}

/** Signing in to the console with an API key, and signing out. */
export function registerSessionRoutes(app: FastifyInstance, parts: SessionRouteParts): void {
  const { access, sessions, guard, audit, hasKeySignIn } = parts;
  const options = {
    schema: { hide: true },
    onRequest: async (request: FastifyRequest) => access.require(request),
  };
  app.post<{ Body: Static<typeof SignInBody> }>(
    '/console/session',
    { ...options, schema: { hide: true, body: SignInBody }, bodyLimit: signInBytesMax },
    async (request, reply) => {
      if (!hasKeySignIn) {
        await guard.countRefusal(request);
        await audit.writeAlone(refusedSignIn(senderOf(request), 403));
        throw new Failure('forbidden', 'Sign in with single sign-on.');
      }
      const { apiKey } = request.body;
      const identified = Promise.resolve(guard.identify(apiKey, request));
      const caller = await identified.catch(async (error: unknown) => {
        if (!(error instanceof Failure && error.code === 'unauthorized')) throw error;
        await audit.writeAlone(refusedSignIn(senderOf(request), 401));
        throw new Failure('unauthorized', 'The API key is not valid. Enter one that is.');
      });
      // Each sign-in writes rows, so it counts like a request with the API key.
      await guard.count(caller);
      const opener = { caller, proofOf: (token: string) => sessionProof(token, apiKey) };
      const token = await sessions.open(opener, senderOf(request), access.tokenOf(request));
      access.setToken(reply, token);
      return reply.code(204).send();
    },
  );
  app.delete('/console/session', options, async (request, reply) => {
    const token = access.tokenOf(request);
    if (token !== undefined) await sessions.end(token, senderOf(request));
    access.clearToken(reply);
    return reply.code(204).send();
  });
  app.delete('/console/sessions', options, async (request, reply) => {
    const token = access.tokenOf(request);
    if (token === undefined || !(await sessions.endAll(token, senderOf(request)))) throw signedOut();
    access.clearToken(reply);
    return reply.code(204).send();
  });
}

export function senderOf({ ip: address, id: requestId }: FastifyRequest): Sender {
  return { address, requestId };
}

export function refusedSignIn(sender: Sender, outcome: number, person: string | null = null): NewAuditEntry {
  const actor = { keyName: null, person };
  return { ...sender, actor, action: 'session.refused', objectType: null, objectId: null, outcome };
}
