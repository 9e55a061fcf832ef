import { setTimeout } from 'node:timers/promises';
import type { Client, Method } from '../../support/client.ts';

/**
 * After a 5xx, the documentation says to repeat the request with the same idempotency key. Faults last for seven calls.
 */
const attemptsMax = 10;
/** Declined charges, and refusals that another change meanwhile can cause. */
const refusals = [402, 404, 409, 422];

export interface ApiClient {
  /** The response, or undefined if the current state forbids the request. */
  call<Body>(method: Method, path: string, body?: object): Promise<Body | undefined>;
}

/**
 * Till's API as a well-behaved client uses it. The faults of the model pass with their calls, so a client repeats a
 * request at once. At a processor with limits it waits as long as the response says.
 */
export function createApiClient(client: Client, { waits = false } = {}): ApiClient {
  return {
    async call<Body>(method: Method, path: string, body?: object) {
      for (let attempts = 1; ; attempts += 1) {
        const response = await client.call(method, `/${path}`, body);
        const text = await response.text();
        // The API tests check what the model reads of a response.
        if (response.ok) return (text === '' ? {} : JSON.parse(text)) as Body;
        if (refusals.includes(response.status)) return undefined;
        if (response.status < 500 || attempts >= attemptsMax)
          throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
        if (waits) await setTimeout(1_000 * Number(response.headers.get('retry-after') ?? 0));
      }
    },
  };
}
