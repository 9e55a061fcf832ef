import type { Person, Scope } from '#core/model/api-key.ts';
import type { Queryable } from '#core/platform/postgres.ts';

/** The owner of a session: a stored API key, an API key from the environment, or a person. */
export interface SessionOwner {
  readonly keyName: string;
  readonly keyId: string | null;
  readonly keyProof: Buffer | null;
  readonly person: Person | null;
  readonly scopes: readonly Scope[] | null;
}

interface NewSession extends SessionOwner {
  readonly digest: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

interface SignInTimes {
  readonly now: Date;
  readonly expiresAt: Date;
}

export interface Session extends SessionOwner {
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
}

interface StoredSession extends Omit<Session, 'person'> {
  readonly issuer: string | null;
  readonly subject: string;
  readonly email: string;
  readonly name: string | null;
}

/** All SQL for the sessions of the console. */
export class SessionStore {
  /** False if the sign-in was used before. Also deletes expired sign-ins, whose cookies are no longer valid. */
  async useSignIn(db: Queryable, digest: string, { now, expiresAt }: SignInTimes): Promise<boolean> {
    const rows = await db.query(
      `with expired as (delete from till.console_sign_ins where expires_at < $2)
       insert into till.console_sign_ins (digest, expires_at) values ($1, $3)
       on conflict (digest) do nothing returning 1 as used`,
      [digest, now, expiresAt],
    );
    return rows.length > 0;
  }

  /** Also deletes expired sessions, which no request can use. */
  async insert(tx: Queryable, session: NewSession): Promise<void> {
    const { person } = session;
    await tx.query('delete from till.console_sessions where expires_at < $1', [session.createdAt]);
    await tx.query(
      `insert into till.console_sessions (digest, key_name, key_id, key_proof, issuer, subject, email, person_name, scopes,
         created_at, last_used_at, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11)`,
      [
        ...[session.digest, session.keyName, session.keyId, session.keyProof],
        ...[person?.issuer, person?.subject, person?.email, person?.name, session.scopes],
        ...[session.createdAt, session.expiresAt],
      ],
    );
  }

  /** Undefined if it has ended, or was last used before `usedSince`. */
  async find(
    db: Queryable,
    digest: string,
    { now, usedSince }: { readonly now: Date; readonly usedSince: Date },
  ): Promise<Session | undefined> {
    const [row] = await db.query<StoredSession>(
      `select key_name as "keyName", key_id as "keyId", key_proof as "keyProof", issuer, subject, email,
         person_name as name, scopes, last_used_at as "lastUsedAt", expires_at as "expiresAt"
       from till.console_sessions
       where digest = $1 and ended_at is null and expires_at > $2 and last_used_at > $3`,
      [digest, now, usedSince],
      'find_console_session',
    );
    if (row === undefined) return undefined;
    const { issuer, subject, email, name, ...session } = row;
    return { ...session, person: issuer === null ? null : { issuer, subject, email, name } };
  }

  async recordUse(db: Queryable, digest: string, now: Date): Promise<void> {
    await db.query(
      'update till.console_sessions set last_used_at = $2 where digest = $1 and ended_at is null and last_used_at < $2',
      [digest, now],
    );
  }

  /** False if it has ended before. */
  async end(db: Queryable, digest: string, now: Date): Promise<boolean> {
    const rows = await db.query(
      `update till.console_sessions set ended_at = $2 where digest = $1 and ended_at is null and expires_at > $2
       returning 1 as ended`,
      [digest, now],
    );
    return rows.length > 0;
  }

  /** Ends all sessions of a person or of an API key. API keys from the environment are known by their name. */
  async endAll(db: Queryable, { person, keyId, keyName }: SessionOwner, now: Date): Promise<void> {
    await db.query(
      `update till.console_sessions set ended_at = $1 where ended_at is null and case
         when $2::text is not null then issuer = $2 and subject = $3
         when $4::uuid is not null then key_id = $4
         else key_proof is not null and key_name = $5 end`,
      [now, person?.issuer, person?.subject, keyId, keyName],
    );
  }
}
