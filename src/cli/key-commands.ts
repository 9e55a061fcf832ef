import { Failure } from '../errors.ts';
import { type KeyValues, keyNamePattern, type StoredKey, scopes } from '../keys/key.ts';
import type { KeyService } from '../keys/key-service.ts';
import { isUuid } from '../platform/id.ts';
import { parseInstant } from '../platform/instant.ts';
import { UsageError } from './usage-error.ts';

export const keyUsage = `\
  keys create --name NAME --scopes S,S [--expires-at TIME]
                              create an API key and print it, this once; scopes: ${scopes.join(', ')}
  keys list                   list API keys, newest first, without those from the environment
  keys revoke ID              revoke an API key; running services refuse it within 5 seconds
`;

/** As many as a page of the API has. */
const pageLimit = 100;

export interface KeyOptions {
  readonly name?: string | undefined;
  readonly scopes?: string | undefined;
  readonly 'expires-at'?: string | undefined;
}

/** The key is the only line on standard output, so that it can be piped to where it is needed. */
export async function createKey(keys: KeyService, options: KeyOptions, now: Date): Promise<void> {
  const { result } = await keys.create(keyValuesOf(options, now), undefined);
  process.stderr.write(
    `${keyLine(result.row)}\nKeep the key now. It is not stored, and cannot be shown again.\n`,
  );
  process.stdout.write(`${result.key}\n`);
}

/** The values of a new key, or a UsageError that names the wrong option. */
export function keyValuesOf(options: KeyOptions, now: Date): KeyValues {
  const { name = '', 'expires-at': expiresAt } = options;
  if (!new RegExp(keyNamePattern).test(name))
    throw new UsageError('--name must be 1 to 64 letters, digits, "_", "-" and ".".');
  const wanted = (options.scopes ?? '').split(',').map((scope) => scope.trim());
  if (new Set(wanted).size !== wanted.length) throw new UsageError('--scopes must name each scope once.');
  const known = scopes.filter((scope) => wanted.includes(scope));
  if (known.length !== wanted.length)
    throw new UsageError(`--scopes must be one or more of ${scopes.join(', ')}, separated by commas.`);
  return { name, scopes: known, expiresAt: expiresAt === undefined ? null : parseExpiry(expiresAt, now) };
}

export async function listKeys(keys: KeyService): Promise<void> {
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await keys.list({ limit: pageLimit, ...(cursor === undefined ? {} : { cursor }) });
    for (const key of page.data) process.stdout.write(`${keyLine(key)}\n`);
    cursor = page.nextCursor;
  }
}

export async function revokeKey(keys: KeyService, id: string): Promise<void> {
  if (!isUuid(id)) throw new Failure('not_found', 'No API key has this id. Run "keys list" to see the ids.');
  await keys.revoke(id.toLowerCase());
  process.stdout.write('Revoked. Running services refuse the key within 5 seconds.\n');
}

function parseExpiry(text: string, now: Date): Date {
  const instant = parseInstant(text);
  if (instant === undefined)
    throw new UsageError('--expires-at must be a time such as 2027-01-31T00:00:00Z.');
  const expiresAt = new Date(Number(instant / 1_000n));
  if (expiresAt <= now) throw new UsageError('--expires-at must be in the future.');
  return expiresAt;
}

function keyLine({ id, name, scopes: held, createdAt, expiresAt, lastUsedAt }: StoredKey): string {
  return [
    id,
    name,
    held.join(','),
    `created ${createdAt.toISOString()}`,
    expiresAt === null ? 'does not expire' : `expires ${expiresAt.toISOString()}`,
    lastUsedAt === null ? 'never used' : `last used ${lastUsedAt.toISOString()}`,
  ].join('  ');
}
