import type { FormMap } from './form.ts';
import { WireError } from './wire-error.ts';

/**
 * Accepts any test key: as a bearer token, as the user name of basic authentication, or, as browsers send it, as the
 * parameter `key`. Removes that parameter from the form.
 */
export function authenticate(
  authorization: string | undefined,
  form: FormMap,
): { readonly fromBrowser: boolean } {
  const parameter = form.get('key');
  if (typeof parameter === 'string' && parameter.startsWith('pk_')) form.delete('key');
  const key = keyFromHeader(authorization) ?? (typeof parameter === 'string' ? parameter : undefined);
  if (key === undefined || key === '')
    throw new WireError(401, {
      type: 'invalid_request_error',
      message:
        'No API key provided. Send it in the Authorization header, as a bearer token or as the user name.',
    });
  if (/^(sk|rk)_test_\S+$/.test(key)) return { fromBrowser: false };
  if (/^pk_test_\S+$/.test(key)) return { fromBrowser: true };
  throw new WireError(401, {
    type: 'invalid_request_error',
    message: `Invalid API Key provided: ${masked(key)}`,
  });
}

function keyFromHeader(authorization: string | undefined): string | undefined {
  const [, scheme, credentials] = /^(Bearer|Basic)\s+(\S+)\s*$/i.exec(authorization ?? '') ?? [];
  if (scheme === undefined || credentials === undefined) return undefined;
  if (scheme.toLowerCase() === 'bearer') return credentials;
  return Buffer.from(credentials, 'base64').toString('utf8').split(':')[0];
}

/** Shows enough to tell two keys apart, but not enough to use one. */
function masked(key: string): string {
  return key.length <= 12 ? '*'.repeat(key.length) : `${key.slice(0, 8)}${'*'.repeat(8)}${key.slice(-4)}`;
}
