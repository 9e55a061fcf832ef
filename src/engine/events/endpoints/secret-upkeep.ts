import type { Platform } from '#core/platform/platform.ts';
import { type EventEndpoint, endpointsMax } from './endpoint.ts';
import type { SecretBox } from './endpoint-secret.ts';
import { EndpointStore } from './endpoint-store.ts';

/** The valid secrets of all endpoints. */
export interface SecretCounts {
  readonly readable: number;
  /** The readable secrets that are not encrypted with the first encryption key. */
  readonly outdated: number;
  /** Secrets that no encryption key decrypts. */
  readonly unreadable: number;
}

/** Encrypts stored secrets with the first encryption key: plain ones, and those under an earlier encryption key. */
export class SecretUpkeep {
  readonly #context: Platform;
  readonly #store = new EndpointStore();
  readonly #secrets: SecretBox;

  constructor(context: Platform, secrets: SecretBox) {
    this.#context = context;
    this.#secrets = secrets;
  }

  /**
   * Uses one transaction for each endpoint, so that an interrupted run keeps its work. Each holds the endpoint's lock,
   * so it does not conflict with a rotation or another process. Also removes secrets that are no longer valid.
   */
  async run(signal?: AbortSignal): Promise<void> {
    const { database, logger } = this.#context;
    await this.#store.dropExpiredSecrets(database);
    let count = 0;
    for (const endpoint of await this.#list())
      if (signal?.aborted !== true && this.#outdatedOf(endpoint).length > 0)
        count += await this.#sealAgain(endpoint.id);
    if (count > 0) logger.info({ count }, 'secrets of event endpoints encrypted');
  }

  async count(): Promise<SecretCounts> {
    const endpoints = await this.#list();
    const all = endpoints.flatMap(storedSecretsOf).length;
    const readable = endpoints.flatMap((endpoint) => this.#readableOf(endpoint)).length;
    const outdated = endpoints.flatMap((endpoint) => this.#outdatedOf(endpoint)).length;
    return { readable, outdated, unreadable: all - readable };
  }

  #list(): Promise<readonly EventEndpoint[]> {
    const { database } = this.#context;
    return this.#store.list(database, null, endpointsMax);
  }

  /** Returns the number of secrets that were encrypted. */
  #sealAgain(id: string): Promise<number> {
    const { database } = this.#context;
    return database.transaction(async (tx) => {
      const endpoint = await this.#store.lock(tx, id);
      // It may have been deleted, or another process may have encrypted it by now.
      const outdated = endpoint === undefined ? [] : this.#outdatedOf(endpoint);
      if (endpoint === undefined || outdated.length === 0) return 0;
      const seal = (stored: string) => {
        const opened = this.#secrets.open(stored, id);
        return opened === undefined || this.#secrets.isCurrent(stored, id)
          ? stored
          : this.#secrets.seal(opened, id);
      };
      await this.#store.writeSecrets(tx, id, {
        secret: seal(endpoint.secret),
        replacedSecrets: endpoint.replacedSecrets.map((one) => ({ ...one, secret: seal(one.secret) })),
      });
      return outdated.length;
    });
  }

  #readableOf(endpoint: EventEndpoint): readonly string[] {
    return storedSecretsOf(endpoint).filter(
      (stored) => this.#secrets.open(stored, endpoint.id) !== undefined,
    );
  }

  #outdatedOf(endpoint: EventEndpoint): readonly string[] {
    return this.#readableOf(endpoint).filter((stored) => !this.#secrets.isCurrent(stored, endpoint.id));
  }
}

function storedSecretsOf({ secret, replacedSecrets }: EventEndpoint): readonly string[] {
  return [secret, ...replacedSecrets.map((replaced) => replaced.secret)];
}
