import type { FastifyRequest } from 'fastify';
import { invalidRequest } from '#core/errors.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';

const path = 'header.idempotency-key';
const keyPattern = /^[\x21-\x7e]{1,255}$/;

/** The request's idempotency key, which belongs to the application that sends it. */
export function idempotencyKeyOf(
  request: FastifyRequest,
  fromBody: string | undefined,
): IdempotencyKey | undefined {
  const key = readKey(request, fromBody);
  return key === undefined ? undefined : { keyName: request.caller?.application ?? '', key };
}

/** From the body or the header; if both are present they must match. */
function readKey(request: FastifyRequest, fromBody: string | undefined): string | undefined {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return fromBody;
  if (typeof header !== 'string' || !keyPattern.test(header))
    throw invalidRequest(path, 'must be 1 to 255 visible characters');
  if (fromBody !== undefined && fromBody !== header)
    throw invalidRequest(path, 'differs from body.idempotencyKey: send only one of them');
  return header;
}
