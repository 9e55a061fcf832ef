import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unusableDataDir } from '#core/platform/data-dir.ts';
import type { Logger } from '#core/platform/logger.ts';
import { ApiKeyRing } from './api-guard.ts';
import { type ApiKey, keyLengthMin, parseApiKeys, shortKeyMistakes } from './api-key.ts';

/** 256 bits: a generated key cannot be guessed. */
const generatedKeyBytes = 32;
const generatedKeyFile = 'api-key';

interface ApiKeySettings {
  readonly production: boolean;
  readonly apiKeys: readonly ApiKey[];
  readonly apiKeysFile: string | undefined;
  readonly dataDir: string;
}

export interface LoadedApiKeys {
  readonly ring: ApiKeyRing;
  /**
   * The path of the generated API key, and the key itself if it is new. Undefined if the operator configured API keys.
   */
  readonly generated: { readonly path: string; readonly newKey: string | undefined } | undefined;
  /** Reloads the file of API keys. If that fails, the previous keys stay valid. */
  readonly reload: () => Promise<number>;
}

/** Loads the API keys from the configured sources, or generates one if none is configured. */
export async function loadApiKeys(settings: ApiKeySettings, logger: Logger): Promise<LoadedApiKeys> {
  const given = settings.apiKeys.length > 0 || settings.apiKeysFile !== undefined;
  const generated = given ? undefined : await readOrGenerateKey(settings.dataDir);
  const ring = new ApiKeyRing([]);
  const reload = async () => {
    const fromFile = settings.apiKeysFile === undefined ? [] : await readKeyFile(settings.apiKeysFile);
    const fromGenerated =
      generated === undefined ? [] : [{ name: 'generated', application: '', key: generated.key }];
    const keys = [...settings.apiKeys, ...fromFile, ...fromGenerated];
    if (settings.production) {
      const mistakes = shortKeyMistakes(fromFile, 'API_KEYS_FILE');
      if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
    }
    for (const { name } of keys.filter(({ key }) => key.length < keyLengthMin))
      logger.warn({ key: name, keyLengthMin }, 'API key too short for production');
    ring.replace(keys);
    return keys.length;
  };
  await reload();
  let last: Promise<unknown> = Promise.resolve();
  return {
    ring,
    generated,
    // Loads run one after the other: an earlier one that reads more slowly would bring removed keys back.
    reload: () => {
      const next = last.then(reload);
      last = next.catch(() => {});
      return next;
    },
  };
}

async function readKeyFile(path: string): Promise<readonly ApiKey[]> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(
      `API_KEYS_FILE is ${JSON.stringify(path)}, which cannot be read; check the path and its permissions`,
      { cause },
    );
  });
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const { keys, mistakes } = parseApiKeys(lines, 'API_KEYS_FILE');
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
  if (keys.length === 0) throw new Error(`API_KEYS_FILE contains no API key; add one to ${path}`);
  return keys;
}

async function readOrGenerateKey(dataDir: string) {
  const path = join(dataDir, generatedKeyFile);
  const newKey = `till_${randomBytes(generatedKeyBytes).toString('base64url')}`;
  const key = await writeOrReadKey(dataDir, path, newKey).catch((cause: unknown) => {
    throw new Error(unusableDataDir(dataDir, cause), { cause });
  });
  if (key === '') throw new Error(`${path} is empty; delete it to generate a new API key`);
  return { path, key, newKey: key === newKey ? newKey : undefined };
}

async function writeOrReadKey(dataDir: string, path: string, newKey: string): Promise<string> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  try {
    await writeFile(path, `${newKey}\n`, { flag: 'wx', mode: 0o600 });
    return newKey;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  await chmod(path, 0o600);
  return (await readFile(path, 'utf8')).trim();
}
