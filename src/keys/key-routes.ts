import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  answer,
  body,
  bodyFailures,
  CursorQuery,
  DateTime,
  Id,
  IdempotencyKey,
  IdParams,
  keyFailures,
  NextCursor,
  nullable,
  problems,
} from '../http/docs/api-schema.ts';
import { component } from '../http/docs/components.ts';
import { answerCreated, idempotencyKeyOf } from '../http/input/idempotency-key.ts';
import { typed } from '../http/typed-app.ts';
import { keyNamePattern, type StoredKey, scopes } from '../model/api-key.ts';
import { parseInstant } from '../platform/instant.ts';
import type { CreatedKey } from './key-creation.ts';
import type { KeyService } from './key-service.ts';

const Name = Type.String({
  pattern: keyNamePattern,
  description:
    'The application that uses the key: 1 to 64 letters, digits, `_`, `-` and `.`. Several keys can have the same ' +
    'name, so that you can replace one. They share their idempotency keys and their rate limit.',
});
const Scopes = Type.Array(Type.Enum([...scopes]), {
  description:
    '`read`: all GETs and previews. `write`: everything that no other scope names. `refund`: refunds. `operate`: ' +
    'webhook events and event endpoints. `admin`: API keys, and everything else. Each scope includes `read`.',
});

export const ApiKeySchema = component('ApiKey', {
  id: Id,
  name: Name,
  scopes: Scopes,
  createdAt: DateTime,
  expiresAt: nullable(
    Type.String({ format: 'date-time', description: 'Refused from then on. Null if it does not expire.' }),
  ),
  lastUsedAt: nullable(
    Type.String({ format: 'date-time', description: 'To the minute. Null if it was never used.' }),
  ),
});

const CreatedApiKeySchema = component('CreatedApiKey', {
  ...ApiKeySchema.properties,
  key: nullable(
    Type.String({
      description:
        'The key, for the x-api-key header. Only this response shows it: Till stores a digest. Null in the response to a ' +
        'repeated request. If the first response is lost, revoke the key and create another one.',
    }),
  ),
});

const ApiKeyListSchema = component('ApiKeyList', { data: Type.Array(ApiKeySchema), nextCursor: NextCursor });

const CreateBody = Type.Object(
  {
    name: Name,
    scopes: { ...Scopes, minItems: 1, maxItems: scopes.length, uniqueItems: true },
    expiresAt: Type.Optional(
      nullable(Type.String({ format: 'date-time', description: 'A time in the future (RFC 3339).' })),
    ),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  { additionalProperties: false, title: 'NewApiKey' },
);

const example: Static<typeof ApiKeySchema> = {
  id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  name: 'shop',
  scopes: ['write', 'refund'],
  createdAt: '2026-11-15T09:30:00.000Z',
  expiresAt: null,
  lastUsedAt: '2026-11-15T09:31:00.000Z',
};

const tags = ['api keys'];
const path = '/api/v1/api-keys';
const config = { scope: 'admin' } as const;

export function registerKeyRoutes(fastify: FastifyInstance, keys: KeyService): void {
  const app = typed(fastify);
  registerCreation(fastify, keys);
  app.get(
    path,
    {
      config,
      schema: {
        tags,
        operationId: 'listApiKeys',
        summary: 'List API keys, newest first',
        description: 'Without revoked keys, and without those from the environment.',
        querystring: CursorQuery,
        response: {
          200: answer('One page of keys.', ApiKeyListSchema, { data: [example], nextCursor: null }),
          ...problems(),
        },
      },
    },
    async (request) => {
      const { data, nextCursor } = await keys.list(request.query);
      return { data: data.map(toAnswer), nextCursor };
    },
  );
  app.delete(
    `${path}/:id`,
    {
      config,
      schema: {
        tags,
        operationId: 'revokeApiKey',
        summary: 'Revoke an API key',
        description:
          'All processes refuse the key within 5 seconds. Keys from the environment cannot be revoked here.',
        params: IdParams,
        response: {
          204: Type.Null({ description: 'The key is revoked.' }),
          ...problems('not_found', ...bodyFailures),
        },
      },
    },
    async (request, reply) => {
      await keys.revoke(request.params.id);
      return reply.code(204).send(null);
    },
  );
}

function registerCreation(fastify: FastifyInstance, keys: KeyService): void {
  typed(fastify).post(
    path,
    {
      config,
      schema: {
        tags,
        operationId: 'createApiKey',
        summary: 'Create an API key',
        body: body(CreateBody, { name: 'shop', scopes: ['write', 'refund'] }),
        response: {
          201: answer('The key, shown this once.', CreatedApiKeySchema, {
            ...example,
            lastUsedAt: null,
            key: `till_${example.id.replaceAll('-', '')}_${'x'.repeat(43)}`,
          }),
          ...problems('too_many_api_keys', ...keyFailures, ...bodyFailures),
        },
      },
    },
    async (request, reply) => {
      const { name, scopes: wanted, expiresAt = null, idempotencyKey } = request.body;
      const values = { name, scopes: wanted, expiresAt: expiresAt === null ? null : toDate(expiresAt) };
      const { result, replayed } = await keys.create(values, idempotencyKeyOf(request, idempotencyKey));
      return answerCreated(reply, replayed).send(toCreatedAnswer(result));
    },
  );
}

/** The schema accepts only what `parseInstant` does. */
function toDate(text: string): Date {
  return new Date(Number((parseInstant(text) ?? 0n) / 1_000n));
}

function toCreatedAnswer({ row, key }: CreatedKey): Static<typeof CreatedApiKeySchema> {
  return { ...toAnswer(row), key };
}

function toAnswer(key: StoredKey): Static<typeof ApiKeySchema> {
  return {
    id: key.id,
    name: key.name,
    scopes: [...key.scopes],
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  };
}
