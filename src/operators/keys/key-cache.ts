import { hash, timingSafeEqual } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Failure } from '#core/errors.ts';
import { type Caller, idInKey } from '#core/model/api-key.ts';
import type { KeyUse } from '#core/model/audit-entry.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { KeyStore, ValidKey } from './key-store.ts';

/**
 * A revoked API key is refused everywhere within 5 s. A key is trusted for this long after it was read. The remaining
 * second is for the statement that revokes it, and for requests that are being admitted.
 */
const trustMs = 4_000;
/** Leaves two chances to refresh before the API keys are no longer trusted. */
export const refreshDelayMs = 2_000;
/** The database is asked at most four times a second, however many unknown API keys arrive. */
const loadDelayMs = 250;
/** More than the maximum number of API keys; see `validKeysMax` in key-service.ts. About 300 bytes each. */
const cachedKeysMax = 2_000;
const minuteMs = 60_000;

export interface FirstUse {
  readonly keyName: string;
  readonly use: KeyUse;
}

interface CacheParts extends Pick<Platform, 'database' | 'clock'> {
  readonly store: Pick<KeyStore, 'listValid'>;
  /** Writes when API keys were used, and who first used those that were never used before. */
  readonly recordUses: (
    uses: ReadonlyMap<string, Date>,
    firstUses: ReadonlyMap<string, FirstUse>,
  ) => Promise<void>;
  /** A clock that is never set back. Tests set their own. */
  readonly elapsedMs?: () => number;
}

/**
 * Caches the valid API keys, so that a request needs no query. They are read again every few seconds, and at once if a
 * request carries an unknown key. While the database is unavailable, requests fail: no key outlives its revocation.
 */
export class KeyCache {
  readonly #parts: CacheParts;
  readonly #elapsedMs: () => number;
  #keys: ReadonlyMap<string, ValidKey> = new Map();
  /** When the statement that read the keys began. */
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** When the last attempt to read them began. */
  #attemptedAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  /** Keys that this process has revoked, and when: a statement that began earlier may still return them. */
  readonly #dropped = new Map<string, number>();
  /** The minute of the last use that this process knows of, by key, and those that are not written yet. */
  readonly #uses = new Map<string, number>();
  #unwritten = new Map<string, Date>();
  /** Who first used a key, as far as this process knows. */
  readonly #firstUses = new Map<string, FirstUse>();

  constructor(parts: CacheParts) {
    this.#parts = parts;
    this.#elapsedMs = parts.elapsedMs ?? (() => performance.now());
  }

  /** The owner of an API key. A promise only if the database must be asked. Undefined if the key is not valid. */
  find(presented: string, use: KeyUse): Caller | undefined | Promise<Caller | undefined> {
    const id = idInKey(presented);
    if (id === undefined) return undefined;
    const known = this.#trusted(id);
    if (known !== undefined) return this.#check(known, presented, use);
    return this.#lookUp(id).then((found) =>
      found === undefined ? undefined : this.#check(found, presented, use),
    );
  }

  /** The owner of the API key with this id, for a session that was opened with the API key. */
  async findById(id: string): Promise<Caller | undefined> {
    const key = this.#trusted(id) ?? (await this.#lookUp(id));
    return key === undefined || this.#hasExpired(key) ? undefined : this.#use(key);
  }

  /** Reads the keys with a statement that begins after this call. Callers share it. */
  refresh(): Promise<void> {
    this.#next ??= this.#readSoon();
    return this.#next;
  }

  /** The key is refused from now on. */
  drop(id: string): void {
    this.#dropped.set(id, this.#elapsedMs());
    this.#keys = new Map([...this.#keys].filter(([known]) => known !== id));
  }

  /**
   * Writes when keys were used, to the minute: at most once a minute for each key. The first use of a key waits for its
   * response.
   */
  async writeUses(): Promise<void> {
    const isDue = (id: string) => {
      const first = this.#firstUses.get(id);
      return first === undefined || first.use.outcome() !== undefined;
    };
    const uses = new Map([...this.#unwritten].filter(([id]) => isDue(id)));
    if (uses.size === 0) return;
    for (const id of uses.keys()) this.#unwritten.delete(id);
    try {
      await this.#parts.recordUses(uses, this.#firstUses);
      for (const id of uses.keys()) this.#firstUses.delete(id);
    } catch (error) {
      this.#unwritten = new Map([...uses, ...this.#unwritten]);
      throw error;
    }
  }

  async #readSoon(): Promise<void> {
    await this.#reading.catch(() => {});
    const waitMs = this.#attemptedAtMs + loadDelayMs - this.#elapsedMs();
    if (waitMs > 0) await setTimeout(waitMs);
    // From here on, callers need another statement.
    this.#next = undefined;
    this.#reading = this.#read();
    await this.#reading;
  }

  async #read(): Promise<void> {
    const { database, store } = this.#parts;
    const startedAtMs = this.#elapsedMs();
    this.#attemptedAtMs = startedAtMs;
    const rows = await store.listValid(database, cachedKeysMax);
    for (const [id, droppedAtMs] of this.#dropped) if (droppedAtMs < startedAtMs) this.#dropped.delete(id);
    this.#keys = new Map(rows.filter(({ id }) => !this.#dropped.has(id)).map((key) => [key.id, key]));
    for (const id of this.#uses.keys()) if (!this.#keys.has(id)) this.#uses.delete(id);
    this.#readAtMs = startedAtMs;
  }

  async #lookUp(id: string): Promise<ValidKey | undefined> {
    await this.refresh();
    if (!this.#isFresh()) throw tooSlow();
    return this.#keys.get(id);
  }

  #isValid(id: string): boolean | Promise<boolean> {
    const isUsable = (key: ValidKey | undefined) => key !== undefined && !this.#hasExpired(key);
    if (this.#isFresh()) return isUsable(this.#keys.get(id));
    return this.#lookUp(id).then(isUsable);
  }

  /** Undefined if the key is not known, or was read too long ago. */
  #trusted(id: string): ValidKey | undefined {
    return this.#isFresh() ? this.#keys.get(id) : undefined;
  }

  #isFresh(): boolean {
    return this.#elapsedMs() - this.#readAtMs < trustMs;
  }

  #hasExpired({ expiresAt }: ValidKey): boolean {
    return expiresAt !== null && expiresAt <= this.#parts.clock.now();
  }

  #check(key: ValidKey, presented: string, use: KeyUse): Caller | undefined {
    const { id, name: keyName, digest, isUnused } = key;
    // As hexadecimal text, which Node produces three times as fast as bytes.
    const given = Buffer.from(hash('sha256', presented, 'hex'), 'hex');
    if (!timingSafeEqual(given, digest) || this.#hasExpired(key)) return undefined;
    if (isUnused && !this.#uses.has(id)) this.#firstUses.set(id, { keyName, use });
    return this.#use(key);
  }

  #use({ id, name, scopes, expiresAt }: ValidKey): Caller {
    const nowMs = this.#parts.clock.now().getTime();
    this.#noteUse(id, nowMs - (nowMs % minuteMs));
    const isValid = () => this.#isValid(id);
    return { id, name, application: name, person: null, scopes, expiresAt, isValid };
  }

  #noteUse(id: string, usedAtMs: number): void {
    if (this.#uses.get(id) === usedAtMs) return;
    this.#uses.set(id, usedAtMs);
    this.#unwritten.set(id, new Date(usedAtMs));
  }
}

/** A slow statement may return keys that were revoked since it began. */
function tooSlow(): Failure {
  return new Failure(
    'database_unavailable',
    'The database takes too long to check the API key. Retry later.',
    {
      retryAfterSeconds: 1,
    },
  );
}
