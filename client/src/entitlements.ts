import { isTillError } from './errors.ts';
import type { RequestOptions } from './options.ts';
import type { Call, Connection } from './requests/connection.ts';
import { readResponse } from './requests/read-response.ts';
import type { paths } from './schema.ts';
import type { Entitlements } from './types.ts';

/** A few hundred bytes to a few kilobytes each, so a few megabytes at most. */
const responsesMax = 1_000;

/** A customer, by Till's id or by your own. */
export type Who =
  | { readonly customerId: string; readonly externalId?: undefined }
  | { readonly externalId: string; readonly customerId?: undefined };

export interface EntitlementOptions extends RequestOptions {
  /**
   * Whether Till asks Stripe first: for the page to which a customer returns from the portal. Rejects if Stripe does
   * not respond.
   */
  readonly fresh?: boolean | undefined;
}

interface Known {
  readonly etag: string;
  readonly entitlements: Entitlements;
}

/**
 * What customers may use. Every call asks Till, so the result is never stale. If nothing has changed, Till responds
 * without a body, and the last response is used again. The last responses for the most recent customers are kept.
 */
export class EntitlementReader {
  readonly #connection: Connection;
  /** The least recently used first. */
  readonly #known = new Map<string, Known>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async get(who: Who, options: EntitlementOptions = {}): Promise<Entitlements> {
    const name = JSON.stringify([who.customerId, who.externalId]);
    const known = this.#known.get(name);
    const { response, facts } = await this.#connection.send(
      {
        ...placeOf(who, options.fresh === true ? { fresh: 'true' } : {}),
        method: 'GET',
        ...(known === undefined ? {} : { headers: { 'if-none-match': known.etag }, accepted: [304] }),
      },
      options,
    );
    // The OpenAPI document describes the body.
    const entitlements =
      response.status === 304 && known !== undefined
        ? known.entitlements
        : (readResponse(response, facts) as Entitlements);
    const etag = response.headers.get('etag') ?? known?.etag;
    if (etag !== undefined) this.#remember(name, { etag, entitlements });
    return entitlements;
  }

  /**
   * Whether the customer may use a feature: its value is true, a number above 0, or a text. Without a feature: whether
   * the customer has a subscription that entitles it. False for a customer that Till does not know.
   */
  async isEntitled(who: Who, feature: string | undefined, options?: EntitlementOptions): Promise<boolean> {
    try {
      const { entitled, features } = await this.get(who, options);
      return feature === undefined
        ? entitled
        : Object.hasOwn(features, feature) && isGranted(features[feature]);
    } catch (error) {
      if (isTillError(error, 'not_found')) return false;
      throw error;
    }
  }

  #remember(name: string, known: Known): void {
    this.#known.delete(name);
    this.#known.set(name, known);
    if (this.#known.size <= responsesMax) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }
}

function placeOf(
  { customerId, externalId }: Who,
  query: Readonly<Record<string, string>>,
): Pick<Call, 'params' | 'query'> & { readonly path: keyof paths } {
  return customerId === undefined
    ? { path: '/api/v1/entitlements', query: { externalId, ...query } }
    : { path: '/api/v1/customers/{id}/entitlements', params: { id: customerId }, query };
}

function isGranted(value: boolean | number | string | undefined): boolean {
  return typeof value === 'number' ? value > 0 : Boolean(value);
}
