import type { FastifyError } from 'fastify';
import { Failure } from '#core/errors.ts';
import type { Mistake } from '#core/problem-fields.ts';
import { mistakePath } from '../input/mistake-path.ts';
import { mistakesMax } from '../load/limits.ts';

/** Maps an error of the framework to a failure; undefined if it is unexpected. `bodyLimit` is that of the route. */
export function toFailure(error: Error & Partial<FastifyError>, bodyLimit: number): Failure | undefined {
  if (error instanceof Failure) return error;
  if (error.validation !== undefined) return invalidRequest(error);
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Failure('payload_too_large', `Send a body of at most ${bodyLimit} bytes.`);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Failure('unsupported_media_type', 'Send the body as application/json.');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Failure(
        'malformed_request',
        'The content-length header does not match the length of the body. Correct the header.',
      );
    case 'FST_ERR_BAD_URL':
      return new Failure('malformed_request', 'The path is not valid percent-encoding. Encode it again.');
    case 'FST_ERR_NOT_FOUND':
      return new Failure(
        'malformed_request',
        'The request method is unknown. See /api/docs for the methods of each path.',
      );
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Failure('not_found', 'A segment of the path is longer than any id. Check the id.');
    default:
      return undefined;
  }
}

function invalidRequest(error: Partial<FastifyError>): Failure {
  // Ids are UUIDs, so no object has any other id.
  if (error.validationContext === 'params')
    return new Failure('not_found', 'No object has this id. Check the id.');
  const part = error.validationContext === 'querystring' ? 'query' : (error.validationContext ?? 'body');
  const errors: Mistake[] = (error.validation ?? []).slice(0, mistakesMax).map((mistake) => {
    const { missingProperty, additionalProperty, propertyName } = mistake.params;
    const field = additionalProperty ?? missingProperty ?? propertyName;
    const steps = mistake.instancePath.split('/').slice(1).map(unescapePointer);
    if (field !== undefined) steps.push(String(field));
    return { path: mistakePath(part, ...steps), message: describe(mistake) };
  });
  const detail = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  return new Failure('invalid_request', detail, { errors });
}

function describe(mistake: { keyword: string; message?: string; params: Record<string, unknown> }): string {
  switch (mistake.keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return 'is not a known field';
    case 'propertyNames':
      return 'is not an allowed key';
    case 'enum':
      // `join` alone would write null as an empty text.
      return `must be one of ${(mistake.params['allowedValues'] as readonly unknown[]).map(String).join(', ')}`;
    case 'const':
      return `must be equal to ${mistake.params['allowedValue']}`;
    default:
      return mistake.message ?? 'is not valid';
  }
}

function unescapePointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}
