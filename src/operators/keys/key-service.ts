import { notFound } from '#core/errors.ts';
import { type Caller, type KeyValues, type StoredKey, scopes } from '#core/model/api-key.ts';
import type { KeyUse, NewAuditEntry } from '#core/model/audit-entry.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import { auditOperation } from '#core/platform/cause.ts';
import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import type { OperationResult } from '#engine/idempotency/operation.ts';
import { type IdCursorPage, pageById } from '#engine/mirrors/id-cursor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { type FirstUse, KeyCache } from './key-cache.ts';
import { type CreatedKey, type KeyCreation, type KeyParts, keyCreation } from './key-creation.ts';

interface KeyServiceParts extends KeyParts {
  readonly idempotency: IdempotencyService;
  readonly audit: AuditLog;
}

/** API keys that are created and revoked while Till runs, without those from the environment. */
export class KeyService {
  readonly creation: KeyCreation;
  readonly #parts: KeyServiceParts;
  readonly #cache: KeyCache;

  constructor(parts: KeyServiceParts) {
    this.#parts = parts;
    this.creation = keyCreation(parts);
    this.#cache = new KeyCache({
      ...parts,
      recordUses: (uses, firstUses) => this.#recordUses(uses, firstUses),
    });
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
    await database.transaction(async (tx) => {
      if (!(await store.revoke(tx, id))) throw notFound('API key');
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
    const { database, store, audit } = this.#parts;
    await database.transaction(async (tx) => {
      for (const id of await store.recordUses(tx, uses)) {
        const first = firstUses.get(id);
        if (first !== undefined) audit.write(tx, firstUseEntry(id, first));
      }
    });
  }
}

function firstUseEntry(objectId: string, { keyName, use }: FirstUse): NewAuditEntry {
  const { address, requestId, outcome } = use;
  const what = { action: 'key.first_used', objectType: 'api_key', objectId, outcome: outcome() ?? 200 };
  return { address, requestId, actor: { keyName, person: null }, ...what };
}
