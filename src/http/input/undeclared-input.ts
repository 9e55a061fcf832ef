import type { FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';
import type { Mistake } from '#core/problem-fields.ts';
import { mistakesMax } from '../load/limits.ts';
import { mistakePath } from './mistake-path.ts';

/**
 * A route that declares no query or no body accepts none: an idempotency key in the wrong place must not cause a second
 * charge. Where there is a schema, the schema decides.
 */
export function undeclaredInput(request: FastifyRequest): Failure | undefined {
  const { schema } = request.route;
  const errors = [
    ...(schema?.querystring === undefined ? mistakesOf('query', request.query) : []),
    ...(schema?.body === undefined ? mistakesOf('body', request.body) : []),
  ];
  if (errors.length === 0) return undefined;
  const detail = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  return new Failure('invalid_request', detail, { errors });
}

/** An empty object contains nothing, so it is harmless. */
function mistakesOf(part: 'query' | 'body', value: unknown): readonly Mistake[] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [{ path: part, message: 'must be empty' }];
  }
  return Object.keys(value)
    .slice(0, mistakesMax)
    .map((name) => ({ path: mistakePath(part, name), message: 'is not a known field' }));
}
