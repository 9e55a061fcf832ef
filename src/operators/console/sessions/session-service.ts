import { hash, randomBytes } from 'node:crypto';
import { type Caller, consoleKeyName, type Person, type Scope } from '#core/model/api-key.ts';
import type { NewAuditEntry, Sender } from '#core/model/audit-entry.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import type { Session, SessionOwner, SessionStore } from './session-store.ts';

/** 256 bits: a token cannot be guessed, so one fast hash of it is as good as a slow one. */
const tokenBytes = 32;
const tokenPattern = /^[\w-]{43}$/;
/** Groups are read at the sign-in, so a person who leaves a group loses its rights within this time. */
const personHoursMax = 12;
/** A use is written this often at most, or ten times in the shortest idle time. */
const useMsMax = 60_000;
/** An ended session stops a request in progress within this time. New requests are always checked. */
const trustMs = 2_000;
const [hourMs, minuteMs] = [3_600_000, 60_000];

interface SessionParts extends Pick<Platform, 'database' | 'clock'> {
  readonly store: SessionStore;
  readonly audit: { write(tx: Transaction, entry: NewAuditEntry): void };
  /** The API keys from the environment. */
  readonly ring: { ofSession(token: string, proof: Buffer): Caller | undefined };
  readonly storedKeys: { findById(id: string): Promise<Caller | undefined> };
  readonly idleMinutes: number;
  readonly sessionHours: number;
  /** Whether API keys may open sessions. If not, their sessions count as ended. */
  readonly hasKeySignIn: boolean;
  /** The identity provider. Sessions of people from another provider count as ended. */
  readonly issuer: URL | undefined;
}

/** The owner of a new session. */
type Opener =
  | { readonly caller: Caller; readonly proofOf: (token: string) => Buffer }
  | { readonly person: Person; readonly scopes: readonly Scope[] };

/** The sessions of the console. A browser has the token of one in a cookie; the database has a digest of the token. */
export class SessionService {
  readonly #parts: SessionParts;
  /** Reads in progress, by token. A browser has several long requests, which are checked again at the same time. */
  readonly #reads = new Map<string, Promise<Session | undefined>>();

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** False if the sign-in with this state was used before. The state is random and its cookie expires at this time. */
  useSignIn(state: string, expiresAt: Date): Promise<boolean> {
    const { database, store, clock } = this.#parts;
    return store.useSignIn(database, digestOf(state), { now: clock.now(), expiresAt });
  }

  /** Opens a new session, and ends the one that the browser had. Returns the token. */
  async open(opener: Opener, sender: Sender, replaced?: string): Promise<string> {
    const { database, store, clock, audit } = this.#parts;
    const token = randomBytes(tokenBytes).toString('base64url');
    const now = clock.now();
    const hours = Math.min(this.#parts.sessionHours, 'person' in opener ? personHoursMax : Number.MAX_VALUE);
    const owner = ownerOf(opener, token);
    const session = {
      ...owner,
      digest: digestOf(token),
      createdAt: now,
      expiresAt: new Date(now.getTime() + hours * hourMs),
    };
    // Redirects the browser of a person to the console.
    const outcome = 'person' in opener ? 303 : 204;
    const earlier = replaced === undefined ? undefined : await this.#read(replaced);
    return database.transaction(async (tx) => {
      await store.insert(tx, session);
      if (replaced !== undefined && (await store.end(tx, digestOf(replaced), now)) && earlier !== undefined)
        audit.write(tx, { ...sender, ...entryOf(earlier), action: 'session.ended', outcome });
      audit.write(tx, { ...sender, ...entryOf(owner), action: 'session.created', outcome });
      return token;
    });
  }

  /**
   * The owner of a session. Undefined if there is none, if it has ended, or if its API key is no longer valid. `isUse`:
   * a request of the person, from which the idle time counts.
   */
  async find(token: string, { isUse }: { readonly isUse: boolean }): Promise<Caller | undefined> {
    const { database, store, clock, idleMinutes } = this.#parts;
    const session = await this.#read(token);
    const caller = session && (await this.#callerOf(session, token));
    if (session === undefined || caller === undefined) return undefined;
    const now = clock.now();
    const useMs = Math.min(useMsMax, (idleMinutes * minuteMs) / 10);
    if (isUse && now.getTime() - session.lastUsedAt.getTime() >= useMs)
      await store.recordUse(database, digestOf(token), now);
    return { ...caller, isValid: this.#validity(token, caller) };
  }

  async end(token: string, sender: Sender): Promise<void> {
    const { database, store, clock, audit } = this.#parts;
    const session = await this.#read(token);
    if (session === undefined) return;
    await database.transaction(async (tx) => {
      if (!(await store.end(tx, digestOf(token), clock.now()))) return;
      audit.write(tx, { ...sender, ...entryOf(session), action: 'session.ended', outcome: 204 });
    });
  }

  /** Ends all sessions of the person, or of the API key, that this session belongs to. False if it has ended itself. */
  async endAll(token: string, sender: Sender): Promise<boolean> {
    const { database, store, clock, audit } = this.#parts;
    const session = await this.#read(token);
    if (session === undefined || (await this.#callerOf(session, token)) === undefined) return false;
    await database.transaction(async (tx) => {
      await store.endAll(tx, session, clock.now());
      audit.write(tx, { ...sender, ...entryOf(session), action: 'session.ended', outcome: 204 });
    });
    return true;
  }

  async #read(token: string): Promise<Session | undefined> {
    if (!tokenPattern.test(token)) return undefined;
    const { database, store, clock, idleMinutes } = this.#parts;
    const now = clock.now();
    const usedSince = new Date(now.getTime() - idleMinutes * minuteMs);
    return store.find(database, digestOf(token), { now, usedSince });
  }

  #readShared(token: string): Promise<Session | undefined> {
    const inProgress = this.#reads.get(token);
    if (inProgress !== undefined) return inProgress;
    const read = this.#read(token).finally(() => this.#reads.delete(token));
    this.#reads.set(token, read);
    return read;
  }

  async #callerOf({ keyId, keyProof, person, scopes, expiresAt }: Session, token: string) {
    const { ring, storedKeys, hasKeySignIn, issuer } = this.#parts;
    if (person === null && !hasKeySignIn) return undefined;
    if (keyId !== null) return storedKeys.findById(keyId);
    if (keyProof !== null) return ring.ofSession(token, keyProof);
    if (person === null || scopes === null || new URL(person.issuer).href !== issuer?.href) return undefined;
    const application = applicationOf(person);
    const isValid = () => true;
    return {
      id: null,
      name: consoleKeyName,
      application,
      person,
      scopes,
      expiresAt,
      isValid,
    } satisfies Caller;
  }

  /** Reads the session again after a while, for long requests. */
  #validity(token: string, caller: Caller): Caller['isValid'] {
    let readAtMs = performance.now();
    return () => {
      if (performance.now() - readAtMs < trustMs) return caller.isValid();
      return this.#readShared(token).then((session) => {
        readAtMs = performance.now();
        return session !== undefined && caller.isValid();
      });
    };
  }
}

/**
 * Each person is a separate application. No API key has a name with a colon, so no API key has the same application.
 */
function applicationOf({ issuer, subject }: Person): string {
  return `person:${hash('sha256', JSON.stringify([issuer, subject]), 'base64url')}`;
}

function ownerOf(opener: Opener, token: string): SessionOwner {
  if ('person' in opener) {
    const { person, scopes } = opener;
    return { keyName: consoleKeyName, keyId: null, keyProof: null, person, scopes };
  }
  const { id: keyId, name: keyName } = opener.caller;
  return {
    keyName,
    keyId,
    keyProof: keyId === null ? opener.proofOf(token) : null,
    person: null,
    scopes: null,
  };
}

function entryOf({ keyName, keyId, person }: SessionOwner) {
  const objectType = keyId === null ? null : 'api_key';
  return { actor: { keyName, person: person?.email ?? null }, objectType, objectId: keyId };
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64url');
}
