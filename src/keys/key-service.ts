import type { IdempotencyKey } from '../idempotency/claim.ts';
import type { IdempotencyService } from '../idempotency/idempotency-service.ts';
import type { OperationResult } from '../idempotency/operation.ts';
import { encodeCursor } from '../mirrors/list-cursor.ts';
import { readCursor } from '../mirrors/list-page.ts';
import { type Caller, type KeyValues, type StoredKey, scopes } from './key.ts';
import { KeyCache } from './key-cache.ts';
import { type CreatedKey, foundKey, KeyCreation, type KeyParts } from './key-creation.ts';

interface KeyServiceParts extends KeyParts {
  readonly idempotency: IdempotencyService;
}

interface KeyList {
  readonly data: readonly StoredKey[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** What a cursor of the list belongs to. */
const listName = 'api_keys';
const microsPerMs = 1_000n;

/** API keys that are created and revoked while Till runs. Keys from the environment are not among them. */
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
    // The order of the scopes means nothing.
    const sorted = scopes.filter((scope) => values.scopes.includes(scope));
    return this.#parts.idempotency.run(this.creation, { ...values, scopes: sorted }, key);
  }

  /** Keys that are not revoked, newest first. */
  async list({ limit, cursor }: { readonly limit: number; readonly cursor?: string }): Promise<KeyList> {
    const { store, database } = this.#parts;
    const position = cursor === undefined ? undefined : readCursor(cursor, listName);
    await this.#cache.writeUses();
    // One row more than the page has shows whether there is a next page.
    const rows = await store.list(database, limit + 1, position);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    const page = (position?.page ?? 1) + 1;
    return {
      data: rows.slice(0, limit),
      nextCursor:
        last === undefined
          ? null
          : encodeCursor(
              { createdAt: BigInt(last.createdAt.getTime()) * microsPerMs, id: last.id, page },
              listName,
            ),
    };
  }

  /** This process refuses the key at once, the others within five seconds. Revoking it again changes nothing. */
  async revoke(id: string): Promise<void> {
    const { store, database } = this.#parts;
    if (!(await store.revoke(database, id))) foundKey(undefined);
    this.#cache.drop(id);
  }

  /** Whose key a request carries. A promise only if the database must be asked. */
  find(presented: string): Caller | undefined | Promise<Caller | undefined> {
    return this.#cache.find(presented);
  }

  /** Must run every `refreshDelayMs`, so that requests rarely wait for the database. */
  async refresh(): Promise<void> {
    await this.#cache.refresh();
    await this.#cache.writeUses();
  }
}
