import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { type AuditEntry, auditRetentionDays, otherActions } from '#core/model/audit-entry.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import {
  CursorQuery,
  DateTime,
  Id,
  listQuery,
  NextCursor,
  nullable,
  response,
} from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import type { AuditLog } from './audit-log.ts';

const actions = otherActions.map((action) => `\`${action}\``).join(', ');

const AuditEntrySchema = component('AuditEntry', {
  id: Id,
  createdAt: DateTime,
  actor: Type.Object(
    {
      keyName: nullable(
        Type.String({
          description: 'The name of the API key. `console` for a person who used single sign-on.',
        }),
      ),
      person: nullable(
        Type.String({ description: 'The e-mail address of the person. Null for an API key.' }),
      ),
    },
    {
      description:
        'Who did it. Both are null if a sign-in with an API key was refused, and for the `till` command.',
    },
  ),
  action: Type.String({ description: `The operation, such as \`refundPayment\`, or one of ${actions}.` }),
  objectType: nullable(
    Type.String({
      description: 'The object of the path, or else the one that was created: `payment`, `api_key`.',
    }),
  ),
  objectId: nullable(Type.String()),
  address: nullable(
    Type.String({
      description:
        'Where the request came from. `TRUST_PROXY` decides which address that is. `cli` for the `till` command.',
    }),
  ),
  requestId: nullable(Type.String({ description: 'The `x-request-id` of the request.' })),
  outcome: Type.Integer({ description: 'The status code of the response.' }),
});

const AuditLogSchema = component('AuditLog', { data: Type.Array(AuditEntrySchema), nextCursor: NextCursor });

const { createdAfter, createdBefore } = listQuery({}).properties;
const AuditQuery = Type.Object(
  {
    actor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 254,
        description: 'The name of an API key, or an e-mail address.',
      }),
    ),
    action: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    objectId: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    createdAfter,
    createdBefore,
    ...CursorQuery.properties,
  },
  { additionalProperties: false },
);

const example: Static<typeof AuditEntrySchema> = {
  id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  createdAt: '2026-11-15T09:30:00.000Z',
  actor: { keyName: 'console', person: 'ada@example.com' },
  action: 'revokeApiKey',
  objectType: 'api_key',
  objectId: '0199c1f2-3c4d-7a5b-8e6f-1a2b3c4d5e6f',
  address: '192.0.2.7',
  requestId: '0199c1f3-5e6f-7a8b-9c0d-1e2f3a4b5c6d',
  outcome: 204,
};

export function registerAuditRoutes(app: FastifyInstance, audit: AuditLog): void {
  new ApiRoutes(app, 'audit log').add('GET /api/v1/audit-log', {
    scope: 'admin',
    operationId: 'listAuditLog',
    summary: 'List who did what, newest first',
    description:
      'Contains every write by a person, sign-ins to the console, including refused ones, and the first use of each API ' +
      'key. Of requests with an API key it contains refunds, deletions of customers, exports, replays, resends, resyncs, ' +
      'changes of event endpoints, and the creation and revocation of API keys, which the `till` command writes too. ' +
      `Entries never change, and are kept for ${auditRetentionDays} days.`,
    query: AuditQuery,
    response: {
      200: response('One page of entries.', AuditLogSchema, { data: [example], nextCursor: null }),
    },
    run: async ({ query: { cursor, limit, ...filter } }) => {
      const { data, nextCursor } = await audit.list(filter, { cursor, limit });
      return { data: data.map(toResponse), nextCursor };
    },
  });
}

function toResponse({ createdAt, ...entry }: AuditEntry): Static<typeof AuditEntrySchema> {
  return { ...entry, createdAt: createdAt.toISOString() };
}
