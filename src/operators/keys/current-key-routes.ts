import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { Id, nullable, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import type { Processor } from '#processor/port/processor.ts';
import { ApiKeySchema } from './key-routes.ts';

const { scopes, expiresAt } = ApiKeySchema.properties;

const CurrentApiKeySchema = component('CurrentApiKey', {
  id: nullable({ ...Id, description: 'Null for an API key from the environment.' }),
  name: Type.String({
    description:
      'The name that logs and the causes of events show. An API key without a name is named after its setting, such as `API_KEYS[1]`.',
  }),
  scopes,
  expiresAt,
  person: nullable(
    Type.Object(
      { email: Type.String(), name: nullable(Type.String()) },
      {
        description:
          'The person who has signed in to the console through single sign-on. Null for an API key.',
      },
    ),
  ),
  processor: component('ProcessorLink', {
    mode: Type.Enum(['sandbox', 'test', 'live'], {
      description:
        '`live`: real money. `test`: the test mode of the processor. `sandbox`: a sandbox in place of the processor.',
    }),
    dashboardUrl: nullable(
      Type.String({
        description:
          "The beginning of links to the processor's dashboard: append `/payments/` and a " +
          '`processorPaymentIntentId`, for example. Null in a sandbox, which has none.',
      }),
    ),
  }),
});

const example: Static<typeof CurrentApiKeySchema> = {
  id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  name: 'console',
  scopes: ['write', 'refund'],
  expiresAt: null,
  person: null,
  processor: { mode: 'test', dashboardUrl: 'https://dashboard.processor.example/test' },
};

/** Tells an application, such as the console, what its API key may do and which account it sees. */
export function registerCurrentKeyRoutes(
  app: FastifyInstance,
  { mode, dashboardUrl }: Pick<Processor, 'mode' | 'dashboardUrl'>,
): void {
  new ApiRoutes(app, 'api keys').add('GET /api/v1/api-keys/current', {
    scope: 'read',
    operationId: 'getCurrentApiKey',
    summary: 'Get the API key of this request',
    response: { 200: response('The API key of the request.', CurrentApiKeySchema, example) },
    run: async ({ caller }) => {
      if (caller === undefined) throw new Error('a request reached the API without an API key');
      const { id, name, scopes, expiresAt, person } = caller;
      return {
        id,
        name,
        scopes: [...scopes],
        expiresAt: expiresAt?.toISOString() ?? null,
        person: person === null ? null : { email: person.email, name: person.name },
        processor: { mode, dashboardUrl },
      };
    },
  });
}
