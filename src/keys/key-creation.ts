import { hash, randomBytes } from 'node:crypto';
import { Failure, invalidRequest } from '../errors.ts';
import type { CheckedOperation, OperationWrite, Recorded } from '../idempotency/operation.ts';
import { type KeyValues, type StoredKey, secretBytes, writeKey } from '../model/api-key.ts';
import type { PlatformParts } from '../platform/parts.ts';
import type { Transaction } from '../platform/postgres.ts';
import type { KeyStore, NewKey } from './key-store.ts';

/**
 * Every process holds all valid keys in memory and reads them every two seconds. A company has a few dozen applications;
 * concurrent requests may exceed the limit a little.
 */
const validKeysMax = 1_000;

export interface KeyParts extends Pick<PlatformParts, 'database' | 'clock'> {
  readonly store: KeyStore;
}

export interface CreatedKey {
  readonly row: StoredKey;
  /** Null for a repeated request: the API key is not stored, so only the first response can show it. */
  readonly key: string | null;
}

interface MadeKey {
  readonly row: NewKey;
  readonly key: string;
}

/**
 * The steps of creating an API key. They call no other system: the key is generated here, and only its digest is
 * stored.
 */
export class KeyCreation implements CheckedOperation<KeyValues, undefined, MadeKey, CreatedKey> {
  readonly name = 'api_keys.create';
  readonly #parts: KeyParts;

  constructor(parts: KeyParts) {
    this.#parts = parts;
  }

  parentIdOf(): null {
    return null;
  }

  async prepare({ expiresAt }: KeyValues): Promise<undefined> {
    const { database, store, clock } = this.#parts;
    if (expiresAt !== null && expiresAt <= clock.now())
      throw invalidRequest('body.expiresAt', 'must be in the future');
    if ((await store.countValid(database)) < validKeysMax) return;
    const detail = `There are ${validKeysMax} valid API keys. Revoke those that are no longer used.`;
    throw new Failure('too_many_api_keys', detail);
  }

  async call(values: KeyValues, _: undefined, { id }: OperationWrite): Promise<MadeKey> {
    const key = writeKey(id, randomBytes(secretBytes));
    const digest = Buffer.from(hash('sha256', key, 'hex'), 'hex');
    return { key, row: { id, ...values, createdAt: this.#parts.clock.now(), digest } };
  }

  async record(tx: Transaction, id: string, { key, row }: MadeKey): Promise<Recorded<CreatedKey>> {
    const { store } = this.#parts;
    const isInserted = await store.insert(tx, row);
    // If another process was faster, its API key is the valid one.
    return { result: { row: foundKey(await store.find(tx, id)), key: isInserted ? key : null } };
  }

  async find(): Promise<null> {
    return null;
  }

  async replay(id: string): Promise<CreatedKey> {
    const { store, database } = this.#parts;
    return { row: foundKey(await store.find(database, id)), key: null };
  }
}

export function keyNotFound(): Failure {
  return new Failure('not_found', 'No API key has this id. Check the id.');
}

function foundKey(key: StoredKey | undefined): StoredKey {
  if (key === undefined) throw keyNotFound();
  return key;
}
