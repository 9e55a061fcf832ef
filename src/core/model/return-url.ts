import { Failure } from '../errors.ts';

export const returnUrlLengthMax = 2_000;

/**
 * Checks the URLs to which the processor's pages send customers back, given by their fields in the body. Fails with
 * every mistake that it finds. `origins` are the allowed origins. If there are none, every origin is allowed.
 */
export function refuseReturnUrls(urls: Readonly<Record<string, string>>, origins: readonly string[]): void {
  const errors = Object.entries(urls).flatMap(([field, text]) => {
    const message = returnUrlMistake(text, origins);
    return message === undefined ? [] : [{ path: `body.${field}`, message }];
  });
  if (errors.length === 0) return;
  const detail = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new Failure('invalid_request', detail, { errors });
}

/** Parsers disagree about spaces, control characters and backslashes in a URL, and so about its host. */
const plainUrl = /^https?:\/\/[^\s\\\p{C}]+$/iu;

/** Why customers must not be sent to this URL, as the end of a sentence. */
function returnUrlMistake(text: string, origins: readonly string[]): string | undefined {
  if (text.length > returnUrlLengthMax) return `must not be longer than ${returnUrlLengthMax} characters`;
  const url = plainUrl.test(text) ? URL.parse(text) : null;
  if (url === null) return 'must be an absolute URL that begins with https:// or http://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password';
  if (origins.length > 0 && !origins.includes(url.origin))
    return 'must begin with one of the origins in RETURN_URL_ORIGINS';
  return undefined;
}
