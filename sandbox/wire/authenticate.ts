import { type FormMap, shorten } from './form.ts';
import { refusal, type WireError } from './wire-error.ts';

interface Identity {
  readonly fromBrowser: boolean;
  /** The world name in the API key. Null for the default world. */
  readonly worldName: string | null;
}

/**
 * Accepts any test API key: as a bearer token, as the user name of basic authentication or, as browsers send it, as the
 * parameter `key`. Removes that parameter from the form.
 */
export function authenticate(authorization: string | undefined, form: FormMap): Identity {
  const parameter = form.get('key');
  if (typeof parameter === 'string' && parameter.startsWith('pk_')) form.delete('key');
  const key = keyFromHeader(authorization) ?? (typeof parameter === 'string' ? parameter : undefined);
  if (key === undefined || key === '')
    throw refusal(
      401,
      'No API key provided. Send it in the Authorization header, as a bearer token or as the user name.',
    );
  return identityOf(key);
}

/** The same for the control API, which also works without an API key. A malformed API key is an error. */
export function authenticateControl(authorization: string | undefined): string | null {
  if (authorization === undefined || authorization === '') return null;
  return identityOf(keyFromHeader(authorization) ?? '').worldName;
}

/** Long enough for the name of a test and a random id. Also short enough for a file name. */
const worldNameLengthMax = 64;
const worldName = new RegExp(`^[A-Za-z0-9_-]{1,${worldNameLengthMax}}$`);

export function isWorldName(name: string): boolean {
  return worldName.test(name);
}

function identityOf(key: string): Identity {
  const [, kind, rest = ''] = /^(sk|rk|pk)_test_(\S+)$/.exec(key) ?? [];
  if (kind === undefined) throw refusal(401, `Invalid API Key provided: ${masked(key)}`);
  const name = rest.startsWith(worldPrefix) ? rest.slice(worldPrefix.length) : null;
  // Using the default world for a misspelled name would mix the objects of two test suites.
  if (name !== null && !isWorldName(name))
    throw refusal(
      401,
      `Invalid API Key provided: ${masked(key)}. After "${worldPrefix}" comes a name of 1 to ${worldNameLengthMax} letters, digits, hyphens and underscores.`,
    );
  return { fromBrowser: kind === 'pk', worldName: name };
}

const worldPrefix = 'world_';

/** Another account, to which the API key has no access. */
export function noAccess(account: string): WireError {
  return refusal(
    403,
    `The provided key does not have access to account '${shorten(account)}' (or that account does not exist).`,
    'account_invalid',
  );
}

function keyFromHeader(authorization: string | undefined): string | undefined {
  const [, scheme, credentials] = /^(Bearer|Basic)\s+(\S+)\s*$/i.exec(authorization ?? '') ?? [];
  if (scheme === undefined || credentials === undefined) return undefined;
  if (scheme.toLowerCase() === 'bearer') return credentials;
  return Buffer.from(credentials, 'base64').toString('utf8').split(':')[0];
}

/** Shows enough to tell two API keys apart, but not enough to use one. */
function masked(key: string): string {
  return key.length <= 12 ? '*'.repeat(key.length) : `${key.slice(0, 8)}${'*'.repeat(8)}${key.slice(-4)}`;
}
