import type { FastifyInstance } from 'fastify';
import { Failure } from '#core/errors.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import type { SandboxResets } from './sandbox-resets.ts';

const SandboxResetSchema = component('SandboxReset', { reset: Type.Boolean() });

/** The reset of the embedded sandbox and of Till's rows together. Test suites call it, so it is part of the API. */
export function registerSandboxResetRoute(app: FastifyInstance, resets: SandboxResets | undefined): void {
  new ApiRoutes(app, 'sandbox').add('POST /api/v1/sandbox/reset', {
    scope: 'admin',
    operationId: 'resetSandbox',
    audited: 'everyone',
    summary: 'Reset the embedded sandbox, and Till with it',
    description:
      'For test suites: deletes all objects of the sandbox, everything that Till has stored about them, events and ' +
      'idempotency keys, and sets the clock of the sandbox to the real time. API keys, event endpoints, sessions of the ' +
      'console and the audit log stay. Other requests wait meanwhile. 404 unless the sandbox is embedded.',
    response: { 200: response('Both are empty.', SandboxResetSchema, { reset: true }) },
    failures: [
      'not_found',
      'sandbox_busy',
      'processor_bad_answer',
      'processor_unavailable',
      'processor_timeout',
    ],
    isNeverPaused: true,
    run: async () => {
      if (resets?.isEmbedded !== true)
        throw new Failure(
          'not_found',
          'The sandbox is not part of this service, so it cannot be reset here.',
        );
      await resets.reset();
      return { reset: true };
    },
  });
}
