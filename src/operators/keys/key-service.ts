import { hash, randomBytes } from 'node:crypto';
import { Failure, invalidRequest, notFound, requireFound } from '#core/errors.ts';
import {
  type Caller,
  type KeyValues,
  type StoredKey,
  scopes,
  secretBytes,
  writeKey,
} from '#core/model/api-key.ts';
import type { KeyUse, NewAuditEntry } from '#core/model/audit-entry.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import { auditOperation } from '#core/platform/cause.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import { type LocalOperation, localOperation } from '#engine/idempotency/local-operation.ts';
import type { OperationResult } from '#engine/idempotency/operation.ts';
import { type IdCursorPage, pageById } from '#engine/mirrors/id-cursor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { type FirstUse, KeyCache } from './key-cache.ts';
import { KeyStore } from './key-store.ts';

/** API keys that are created and revoked while Till runs, without those from the environment. */
export class KeyService {
  readonly creation: KeyCreation;
  readonly #context: Platform;
  readonly #store = new KeyStore();
  readonly #idempotency: IdempotencyService;
  readonly #audit: AuditLog;
  readonly #cache: KeyCache;

  constructor(context: Platform, idempotency: IdempotencyService, audit: AuditLog) {
    this.#context = context;
    this.#idempotency = idempotency;
    this.#audit = audit;
    this.creation = keyCreation(context, this.#store);
    this.#cache = new KeyCache({
      ...context,
      store: this.#store,
      recordUses: (uses, firstUses) => this.#recordUses(uses, firstUses),
    });
  }

  create(values: KeyValues, key: IdempotencyKey | undefined): Promise<OperationResult<CreatedKey>> {
    // The order of the scopes has no meaning.
    const sorted = scopes.filter((scope) => values.scopes.includes(scope));
    return this.#idempotency.run(this.creation, { ...values, scopes: sorted }, key);
  }

  /** API keys that are not revoked, newest first. */
  async list(page: { readonly limit: number; readonly cursor?: string }): Promise<IdCursorPage<StoredKey>> {
    const { database } = this.#context;
    await this.#cache.writeUses();
    return pageById('api-keys', page, (before, count) => this.#store.list(database, before, count));
  }

  /** This process refuses the API key at once, the others within five seconds. Revoking it again changes nothing. */
  async revoke(id: string): Promise<void> {
    const { database } = this.#context;
    await database.transaction(async (tx) => {
      if (!(await this.#store.revoke(tx, id))) throw notFound('API key');
      auditOperation(tx);
    });
    this.#cache.drop(id);
  }

  /** The owner of a request's API key. A promise only if the database must be asked. */
  find(presented: string, use: KeyUse): Caller | undefined | Promise<Caller | undefined> {
    return this.#cache.find(presented, use);
  }

  /** The owner of the API key with this id. Undefined if it is not valid. */
  findById(id: string): Promise<Caller | undefined> {
    return this.#cache.findById(id);
  }

  /** Must run every `refreshDelayMs`, so that requests rarely wait for the database. */
  async refresh(): Promise<void> {
    await this.#cache.refresh();
    await this.#cache.writeUses();
  }

  async #recordUses(
    uses: ReadonlyMap<string, Date>,
    firstUses: ReadonlyMap<string, FirstUse>,
  ): Promise<void> {
    const { database } = this.#context;
    await database.transaction(async (tx) => {
      for (const id of await this.#store.recordUses(tx, uses)) {
        const first = firstUses.get(id);
        if (first !== undefined) this.#audit.write(tx, firstUseEntry(id, first));
      }
    });
  }
}

function firstUseEntry(objectId: string, { keyName, use }: FirstUse): NewAuditEntry {
  const { address, requestId, outcome } = use;
  const what = { action: 'key.first_used', objectType: 'api_key', objectId, outcome: outcome() ?? 200 };
  return { address, requestId, actor: { keyName, person: null }, ...what };
}

/**
 * Every process holds all valid keys in memory and reads them every two seconds. A company has a few dozen
 * applications; concurrent requests may exceed the limit a little.
 */
const validKeysMax = 1_000;

interface CreatedKey {
  readonly row: StoredKey;
  /** Null for a repeated request: the API key is not stored, so only the first response can show it. */
  readonly key: string | null;
}

type KeyCreation = LocalOperation<KeyValues, CreatedKey>;

/** The steps of creating an API key. The key is generated here, and only its digest is stored. */
function keyCreation({ database, clock }: Platform, store: KeyStore): KeyCreation {
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
