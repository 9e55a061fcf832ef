import type { StoredKey } from '#core/model/api-key.ts';
import type { Queryable } from '#core/platform/postgres.ts';

/** An API key that requests may carry. */
export interface ValidKey extends Pick<StoredKey, 'id' | 'name' | 'scopes' | 'expiresAt'> {
  readonly digest: Buffer;
  readonly isUnused: boolean;
}

interface NewKey extends Pick<StoredKey, 'id' | 'name' | 'scopes' | 'createdAt' | 'expiresAt'> {
  readonly digest: Buffer;
}

/** All SQL for the API keys that were created through the API or the command line. */
export class KeyStore {
  async insert(tx: Queryable, key: NewKey): Promise<void> {
    await tx.query(
      `insert into till.api_keys (id, name, scopes, digest, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)`,
      [key.id, key.name, key.scopes, key.digest, key.createdAt, key.expiresAt],
    );
  }

  async find(db: Queryable, id: string): Promise<StoredKey | undefined> {
    const rows = await db.query<StoredKey>(`select ${columns} from till.api_keys where id = $1`, [id]);
    return rows[0];
  }

  /** API keys that are not revoked, newest first, starting after `before`. */
  list(db: Queryable, before: string | null, limit: number): Promise<readonly StoredKey[]> {
    return db.query(
      `select ${columns} from till.api_keys
       where revoked_at is null and ($1::uuid is null or id < $1) order by id desc limit $2`,
      [before, limit],
    );
  }

  async countValid(db: Queryable): Promise<number> {
    const rows = await db.query<{ count: number }>(
      `select count(*) as count from till.api_keys where ${isValid}`,
    );
    return rows[0]?.count ?? 0;
  }

  /** Oldest first, so that the limit always excludes the same ones. */
  listValid(db: Queryable, limit: number): Promise<readonly ValidKey[]> {
    return db.query(
      `select id, name, scopes, digest, expires_at as "expiresAt", last_used_at is null as "isUnused"
       from till.api_keys where ${isValid} order by created_at, id limit $1`,
      [limit],
      'list_valid_keys',
    );
  }

  /** False if there is no such API key. A key that is already revoked stays revoked. */
  async revoke(db: Queryable, id: string): Promise<boolean> {
    const rows = await db.query(
      `update till.api_keys set revoked_at = coalesce(revoked_at, now()) where id = $1 returning 1 as revoked`,
      [id],
    );
    return rows.length > 0;
  }

  /**
   * Returns the ids of those that were never used before. Locks the rows in a fixed order, because every process does
   * this.
   */
  async recordUses(db: Queryable, uses: ReadonlyMap<string, Date>): Promise<readonly string[]> {
    const rows = await db.query<{ id: string; isFirst: boolean }>(
      `with used as (
         select api_keys.id, v.at, last_used_at is null as is_first
         from unnest($1::uuid[], $2::timestamptz[]) as v (id, at) join till.api_keys on api_keys.id = v.id
         where last_used_at is null or last_used_at < v.at
         order by api_keys.id for update of api_keys)
       update till.api_keys set last_used_at = used.at from used where api_keys.id = used.id
       returning api_keys.id, used.is_first as "isFirst"`,
      [[...uses.keys()], [...uses.values()]],
    );
    return rows.filter(({ isFirst }) => isFirst).map(({ id }) => id);
  }
}

const columns = `id, name, scopes, created_at as "createdAt", expires_at as "expiresAt",
  last_used_at as "lastUsedAt"`;
const isValid = 'revoked_at is null and (expires_at is null or expires_at > now())';
