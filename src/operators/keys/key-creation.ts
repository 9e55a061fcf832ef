import { hash, randomBytes } from 'node:crypto';
import { Failure, invalidRequest, requireFound } from '#core/errors.ts';
import { type KeyValues, type StoredKey, secretBytes, writeKey } from '#core/model/api-key.ts';
import type { Platform } from '#core/platform/platform.ts';
import { type LocalOperation, localOperation } from '#engine/idempotency/local-operation.ts';
import type { KeyStore } from './key-store.ts';

/**
 * Every process holds all valid keys in memory and reads them every two seconds. A company has a few dozen
 * applications; concurrent requests may exceed the limit a little.
 */
const validKeysMax = 1_000;

export interface KeyParts extends Pick<Platform, 'database' | 'clock'> {
  readonly store: KeyStore;
}

export interface CreatedKey {
  readonly row: StoredKey;
  /** Null for a repeated request: the API key is not stored, so only the first response can show it. */
  readonly key: string | null;
}

export type KeyCreation = LocalOperation<KeyValues, CreatedKey>;

/** The steps of creating an API key. The key is generated here, and only its digest is stored. */
export function keyCreation({ database, store, clock }: KeyParts): KeyCreation {
  return localOperation<KeyValues, CreatedKey>({
    name: 'api_keys.create',
    parentIdOf: () => null,
    check: async ({ expiresAt }) => {
      if (expiresAt !== null && expiresAt <= clock.now())
        throw invalidRequest('body.expiresAt', 'must be in the future');
      if ((await store.countValid(database)) < validKeysMax) return;
      const detail = `There are ${validKeysMax} valid API keys. Revoke those that are no longer used.`;
      throw new Failure('too_many_api_keys', detail);
    },
    write: async (tx, id, values) => {
      const key = writeKey(id, randomBytes(secretBytes));
      const digest = hash('sha256', key, 'buffer');
      await store.insert(tx, { id, ...values, createdAt: clock.now(), digest });
      return { row: requireFound('API key', await store.find(tx, id)), key };
    },
    read: async (id) => ({ row: requireFound('API key', await store.find(database, id)), key: null }),
  });
}
