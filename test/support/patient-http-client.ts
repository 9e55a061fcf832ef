import { setTimeout } from 'node:timers/promises';
import { Stripe } from 'stripe';

/** A small part of the second that the processor counts, and of the time for which it locks an object. */
const pauseMs = 100;
/** A minute: far longer than either lasts. */
const attemptsMax = 600;

/**
 * For the official client of people at the dashboard, and of buyers: they try again if the processor limits them or an
 * object is locked, as it does with manners. They see every other response.
 */
export function patientHttpClient(): InstanceType<typeof Stripe.HttpClient> {
  const plain = Stripe.createNodeHttpClient();
  return {
    getClientName: () => plain.getClientName(),
    makeRequest: async (...request) => {
      for (let attempts = 1; ; attempts += 1) {
        const response = await plain.makeRequest(...request);
        const headers = response.getHeaders();
        const isBusy = headers['stripe-should-retry'] === 'true' || 'stripe-rate-limited-reason' in headers;
        if (response.getStatusCode() !== 429 || !isBusy || attempts === attemptsMax) return response;
        // Frees the connection.
        await response.toJSON();
        await setTimeout(pauseMs);
      }
    },
  };
}
