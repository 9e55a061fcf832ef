import { isKeyUsedUp } from '#core/errors.ts';
import { shareConcurrent } from '#core/platform/share-concurrent.ts';
import type { PortalCalls } from '#processor/port/portal-calls.ts';

/** How many processor keys may repeat a failure. Each failure of the processor uses up one of them for a day. */
const usedUpMax = 10;

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
   * Processes that find no configuration at the same time create it under the same processor key, so they create one. A
   * deactivated configuration is replaced under another processor key, because the processor repeats its response for a
   * day. The same holds after a failure that it repeats. The two counts are separate parts of the key: the response
   * under `1` is that of the second configuration, and never that of the first one, which was created under `0-1`.
   */
  async #look(usedUp = 0): Promise<string> {
    const own = await this.#calls.listConfigurations();
    const found = own.find(({ isActive }) => isActive);
    if (found !== undefined) return found.processorConfigurationId;
    const suffix = usedUp === 0 ? '' : `-${usedUp}`;
    const idempotencyKey = `till-portal-configuration-${own.length}${suffix}`;
    try {
      return (await this.#calls.createConfiguration({ idempotencyKey })).processorConfigurationId;
    } catch (error) {
      if (!isKeyUsedUp(error) || usedUp >= usedUpMax) throw error;
      return this.#look(usedUp + 1);
    }
  }
}
