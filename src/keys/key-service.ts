import type { IdempotencyKey } from '../idempotency/claim.ts';
import type { IdempotencyService } from '../idempotency/idempotency-service.ts';
import type { OperationResult } from '../idempotency/operation.ts';
import { type IdCursorPage, pageById } from '../mirrors/id-cursor.ts';
import { type Caller, type KeyValues, type StoredKey, scopes } from '../model/api-key.ts';
import { KeyCache } from './key-cache.ts';
import { type CreatedKey, KeyCreation, type KeyParts, keyNotFound } from './key-creation.ts';

interface KeyServiceParts extends KeyParts {
  readonly idempotency: IdempotencyService;
}

/** API keys that are created and revoked while Till runs, without those from the environment. */
export class KeyService {
  readonly creation: KeyCreation;
  readonly #parts: KeyServiceParts;
  readonly #cache: KeyCache;

  constructor(parts: KeyServiceParts) {
    this.#parts = parts;
    this.creation = new KeyCreation(parts);
    this.#cache = new KeyCache(parts);
  }

  create(values: KeyValues, key: IdempotencyKey | undefined): Promise<OperationResult<CreatedKey>> {
    // The order of the scopes has no meaning.
    const sorted = scopes.filter((scope) => values.scopes.includes(scope));
    return this.#parts.idempotency.run(this.creation, { ...values, scopes: sorted }, key);
  }

  /** API keys that are not revoked, newest first. */
  async list(page: { readonly limit: number; readonly cursor?: string }): Promise<IdCursorPage<StoredKey>> {
    const { store, database } = this.#parts;
    await this.#cache.writeUses();
    return pageById('api-keys', page, (before, count) => store.list(database, before, count));
  }

  /** This process refuses the API key at once, the others within five seconds. Revoking it again changes nothing. */
  async revoke(id: string): Promise<void> {
    const { store, database } = this.#parts;
    if (!(await store.revoke(database, id))) throw keyNotFound();
    this.#cache.drop(id);
  }

  /** The owner of a request's API key. A promise only if the database must be asked. */
  find(presented: string): Caller | undefined | Promise<Caller | undefined> {
    return this.#cache.find(presented);
  }

  /** Must run every `refreshDelayMs`, so that requests rarely wait for the database. */
  async refresh(): Promise<void> {
    await this.#cache.refresh();
    await this.#cache.writeUses();
  }
}
