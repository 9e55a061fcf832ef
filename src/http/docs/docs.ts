import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifySchema } from 'fastify';
import type { FailureCode } from '#core/errors.ts';
import type { Scope } from '#core/model/api-key.ts';
import { version } from '#core/platform/version.ts';
import { inAnyCase, optionalBody, patternRule } from '../input/validator.ts';
import { addPositionHeaders } from '../positions.ts';
import { moveToComponents, shareParameters } from './components.ts';
import { registerDocPages } from './doc-pages.ts';
import { addProblemResponses } from './problem-responses.ts';

/** A group of operations. */
export interface OperationTag {
  readonly name: string;
  readonly description: string;
}

/** The groups of operations that belong to no resource, in the order in which the reference shows them. */
const commonTags: readonly OperationTag[] = [
  {
    name: 'api keys',
    description: 'API keys for applications, each with a name and the scopes that it needs.',
  },
  { name: 'audit log', description: 'Who did what, and from where. For administrators.' },
  { name: 'events', description: 'Changes of objects, for applications.' },
  { name: 'event endpoints', description: 'Where Till sends events to your applications.' },
  { name: 'search', description: 'Finds objects by an id, an email address or an invoice number.' },
  {
    name: 'overview',
    description: 'Numbers about payments, refunds and subscriptions, and what needs attention.',
  },
  { name: 'webhook events', description: 'Events received from the processor. For operators.' },
  { name: 'resyncs', description: 'Comparisons with the processor. For operators.' },
  { name: 'sandbox', description: 'The embedded sandbox. For tests.' },
  {
    name: 'operations',
    description: 'Health checks, metrics and the webhook endpoint. No API key needed.',
  },
];

/**
 * The interactive reference and its OpenAPI document, both generated from the schemas that validate and serialise. The
 * `tags` are those of the resources.
 */
export async function registerDocs(app: FastifyInstance, tags: readonly OperationTag[] = []): Promise<void> {
  const failures = new Map<unknown, readonly FailureCode[]>();
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Till',
        version,
        description:
          'Payments and subscriptions over HTTP. Amounts are integers in the smallest unit of the currency. ' +
          'Times are in ISO 8601 format. Changes within /api/v1 only add: clients must ignore unknown fields.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/', description: 'This service' }],
      tags: [...tags, ...commonTags],
      components: {
        securitySchemes: {
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'x-api-key',
            description:
              'Each operation names the scope that the API key needs: `read`, `write`, `usage`, `refund`, `operate` or ' +
              '`admin`. Every scope but `usage` includes `read`, `write` includes `usage`, and `admin` includes all.',
          },
        },
      },
      security: [{ apiKey: [] }],
    },
    transform: ({ schema, url, route }) => {
      failures.set(schema?.operationId, route.config?.failures ?? []);
      return { schema: describeScope(schema, route.config?.scope), url };
    },
    transformObject: (document) =>
      'openapiObject' in document
        ? moveToComponents(
            addProblemResponses(
              shareParameters(
                addPositionHeaders(JSON.parse(JSON.stringify(document.openapiObject), requireNoDefaults)),
              ),
              (operationId) => failures.get(operationId) ?? [],
            ),
          )
        : document.swaggerObject,
  });
  registerDocPages(app);
}

/**
 * Adds the scope of a route: as the requirement of its security scheme, for tools, and to its description, because
 * common viewers do not show the former.
 */
function describeScope(schema: FastifySchema, scope: Scope | undefined): FastifySchema {
  if (scope === undefined) return schema;
  const { description } = schema;
  const sentence = `Needs the scope \`${scope}\`.`;
  return {
    ...schema,
    description: description === undefined ? sentence : `${description} ${sentence}`,
    security: [{ apiKey: [scope] }],
  };
}

/**
 * Fields with a default, and an optional body, need not be sent. Their schemas look required, because the values are
 * filled in before a handler sees them.
 */
function requireNoDefaults(key: string, value: unknown): unknown {
  // Only the validator needs these keywords.
  if (key === inAnyCase || key === patternRule) return undefined;
  if (typeof value !== 'object' || value === null || !('required' in value)) return value;
  // The fields of a parameter or a body of the document that are needed here. Other objects have neither field.
  const { schema, content } = value as {
    readonly schema?: { readonly default?: unknown };
    readonly content?: Readonly<Record<string, { readonly schema?: { readonly [optionalBody]?: true } }>>;
  };
  const isOptional = schema?.default !== undefined || content?.['application/json']?.schema?.[optionalBody];
  return isOptional ? { ...value, required: false } : value;
}
