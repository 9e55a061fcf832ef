import { shareConcurrent } from '../platform/share-concurrent.ts';
import type { PortalCalls } from '../processor/port/portal-calls.ts';

/** The id of the portal configuration that Till creates once for each account. */
export class TillPortalConfiguration {
  readonly #calls: PortalCalls;
  readonly #findOrCreate = shareConcurrent(() => this.#look());
  #id: string | undefined;

  constructor(calls: PortalCalls) {
    this.#calls = calls;
  }

  async id(): Promise<string> {
    return this.#id ?? this.findAgain();
  }

  async findAgain(): Promise<string> {
    this.#id = await this.#findOrCreate();
    return this.#id;
  }

  /**
   * Processes that find none at the same time create it under the same processor key, and so create one. A deactivated
   * one is replaced under another processor key, because the processor repeats its response for a day.
   */
  async #look(): Promise<string> {
    const own = await this.#calls.listConfigurations();
    const found = own.find(({ isActive }) => isActive);
    const { processorConfigurationId } =
      found ??
      (await this.#calls.createConfiguration({ idempotencyKey: `till-portal-configuration-${own.length}` }));
    return processorConfigurationId;
  }
}
