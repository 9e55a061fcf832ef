import { Failure } from '#core/errors.ts';
import { type KeyValues, keyNamePattern, type StoredKey, scopes } from '#core/model/api-key.ts';
import { systemClock } from '#core/platform/clock.ts';
import { isUuid } from '#core/platform/id.ts';
import { parseInstant } from '#core/platform/instant.ts';
import { runAudited } from '../audited-command.ts';
import { defineCommand, UsageError } from '../command.ts';
import { withServices } from '../with-services.ts';

/** As many as a page of the API has. */
const pageLimit = 100;

/** The API key is the only line on standard output, so that it can be piped. */
export const createKey = defineCommand({
  name: 'keys create',
  summary: 'create an API key and print it once',
  options: {
    name: { type: 'string', value: 'NAME', isRequired: true, about: 'the application that uses the API key' },
    scopes: {
      type: 'string',
      value: 'SCOPE,SCOPE',
      isRequired: true,
      about: `what the API key may do: ${scopes.join(', ')}`,
    },
    'expires-at': { type: 'string', value: 'TIME', about: 'when it expires, such as 2027-01-31T00:00:00Z' },
  },
  run: (call) => {
    const values = keyValuesOf(call.values, systemClock.now());
    return withServices(call, async ({ keys, audit }) => {
      const created = { action: 'createApiKey', objectType: 'api_key', objectId: null, outcome: 201 };
      const { result } = await runAudited(audit, created, () => keys.create(values, undefined));
      const { row, key } = result;
      call.output.note(
        `${keyLine(row)}\nStore the API key now. Till does not store it, and cannot show it again.`,
      );
      call.output.result({ ...shown(row), key }, key ?? undefined);
    });
  },
});

export const listKeys = defineCommand({
  name: 'keys list',
  summary: 'list API keys, newest first, without those from the environment',
  run: (call) =>
    withServices(call, async ({ keys }) => {
      const data: StoredKey[] = [];
      let cursor: string | null | undefined;
      while (cursor !== null) {
        const page = await keys.list({ limit: pageLimit, ...(cursor === undefined ? {} : { cursor }) });
        data.push(...page.data);
        cursor = page.nextCursor;
      }
      const text = data.length === 0 ? undefined : data.map(keyLine).join('\n');
      call.output.result({ data: data.map(shown) }, text);
    }),
});

export const revokeKey = defineCommand({
  name: 'keys revoke',
  summary: 'revoke an API key; running services refuse it within 5 seconds',
  positionals: [{ name: 'ID', about: 'the id that "till keys list" shows' }],
  run: (call) =>
    withServices(call, async ({ keys, audit }) => {
      const [id = ''] = call.positionals;
      if (!isUuid(id))
        throw new Failure('not_found', 'No API key has this id. Run "till keys list" to see the ids.');
      const objectId = id.toLowerCase();
      const revoked = { action: 'revokeApiKey', objectType: 'api_key', objectId, outcome: 204 };
      await runAudited(audit, revoked, () => keys.revoke(objectId));
      call.output.result({ id: objectId }, 'Revoked. Running services refuse the API key within 5 seconds.');
    }),
});

interface KeyOptions {
  readonly name?: string | undefined;
  readonly scopes?: string | undefined;
  readonly 'expires-at'?: string | undefined;
}

/** The values of a new API key, or a UsageError that names the invalid option. */
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

function parseExpiry(text: string, now: Date): Date {
  const instant = parseInstant(text);
  if (instant === undefined)
    throw new UsageError('--expires-at must be a time such as 2027-01-31T00:00:00Z.');
  const expiresAt = new Date(Number(instant / 1_000n));
  if (expiresAt <= now) throw new UsageError('--expires-at must be in the future.');
  return expiresAt;
}

/** The fields of an API key that the API shows. */
function shown({ id, name, scopes: held, createdAt, expiresAt, lastUsedAt }: StoredKey) {
  return { id, name, scopes: held, createdAt, expiresAt, lastUsedAt };
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
