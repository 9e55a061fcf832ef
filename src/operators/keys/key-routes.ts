import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { keyNamePattern, type StoredKey, scopes } from '#core/model/api-key.ts';
import { parseInstant } from '#core/platform/instant.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import {
  body,
  CursorQuery,
  DateTime,
  Id,
  IdempotencyKey,
  NextCursor,
  nullable,
  nullableTime,
  response,
} from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import type { KeyService } from './key-service.ts';

const Name = Type.String({
  pattern: keyNamePattern,
  description:
    'The application that uses the API key: 1 to 64 letters, digits, `_`, `-` and `.`. Several API keys can have the same ' +
    'name, so that you can replace one. They share their idempotency keys and their rate limit.',
});
const Scopes = Type.Array(Type.Enum([...scopes]), {
  description:
    '`read`: all GETs and previews. `write`: everything that no other scope names, and `usage`. `usage`: recording and ' +
    'consuming usage. `refund`: refunds. `operate`: webhook events and event endpoints. `admin`: API keys, and ' +
    'everything else. Each scope but `usage` includes `read`.',
});

export const ApiKeySchema = component('ApiKey', {
  id: Id,
  name: Name,
  scopes: Scopes,
  createdAt: DateTime,
  expiresAt: nullableTime('Refused from then on. Null if it does not expire.'),
  lastUsedAt: nullableTime('To the minute. Null if it was never used.'),
});

const CreatedApiKeySchema = component('CreatedApiKey', {
  ...ApiKeySchema.properties,
  key: nullable(
    Type.String({
      description:
        'The API key, for the x-api-key header. Only this response shows it: Till stores a digest. Null in the response to a ' +
        'repeated request. If the first response is lost, revoke the API key and create another one.',
    }),
  ),
});

const ApiKeyListSchema = component('ApiKeyList', { data: Type.Array(ApiKeySchema), nextCursor: NextCursor });

const CreateBody = Type.Object(
  {
    name: Name,
    scopes: { ...Scopes, minItems: 1, maxItems: scopes.length, uniqueItems: true },
    expiresAt: Type.Optional(nullableTime('A time in the future (RFC 3339).')),
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

const path = '/api/v1/api-keys';

export function registerKeyRoutes(app: FastifyInstance, keys: KeyService): void {
  const routes = new ApiRoutes(app, 'api keys');
  routes.addKeyed(`POST ${path}`, {
    scope: 'admin',
    operationId: 'createApiKey',
    audited: 'everyone',
    summary: 'Create an API key',
    body: body(CreateBody, { name: 'shop', scopes: ['write', 'refund'] }),
    response: {
      201: response('The API key, shown only in this response.', CreatedApiKeySchema, {
        ...example,
        lastUsedAt: null,
        key: `till_${example.id.replaceAll('-', '')}_${'x'.repeat(43)}`,
      }),
    },
    failures: ['too_many_api_keys'],
    run: ({ body: { name, scopes: wanted, expiresAt = null } }, key) =>
      keys.create({ name, scopes: wanted, expiresAt: expiresAt === null ? null : toDate(expiresAt) }, key),
    toResponse: ({ row, key }) => ({ ...toResponse(row), key }),
  });
  routes.add(`GET ${path}`, {
    scope: 'admin',
    operationId: 'listApiKeys',
    summary: 'List API keys, newest first',
    description: 'Without revoked API keys, and without those from the environment.',
    query: CursorQuery,
    response: {
      200: response('One page of API keys.', ApiKeyListSchema, { data: [example], nextCursor: null }),
    },
    run: async ({ query }) => {
      const { data, nextCursor } = await keys.list(query);
      return { data: data.map(toResponse), nextCursor };
    },
  });
  routes.add(`DELETE ${path}/:id`, {
    scope: 'admin',
    operationId: 'revokeApiKey',
    audited: 'everyone',
    summary: 'Revoke an API key',
    description:
      'All processes refuse the API key within 5 seconds. API keys from the environment cannot be revoked here.',
    response: { 204: Type.Null({ description: 'The API key is revoked.' }) },
    run: async ({ params }) => {
      await keys.revoke(params.id);
      return null;
    },
  });
}

/** The schema accepts only texts that `parseInstant` accepts. */
function toDate(text: string): Date {
  return new Date(Number((parseInstant(text) ?? 0n) / 1_000n));
}

function toResponse(key: StoredKey): Static<typeof ApiKeySchema> {
  return {
    id: key.id,
    name: key.name,
    scopes: [...key.scopes],
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  };
}
