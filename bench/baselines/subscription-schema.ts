import { readFileSync } from 'node:fs';
import { withoutReferences } from '../../test/support/openapi.ts';

const document = withoutReferences(
  JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')),
);
const response =
  document.paths['/api/v1/subscriptions/{id}'].get.responses['200'].content['application/json'];

const { subscription, properties } = withoutCustomer(document.components.schemas.Subscription);

/** Only a request that includes the customer gets it. */
function withoutCustomer(subscription: { readonly properties: Readonly<Record<string, object>> }) {
  const { customer: _, ...properties } = subscription.properties;
  return { subscription, properties };
}

/** The path and the response of the compared route, from the service's own description. */
export const subscriptionPath = '/api/v1/subscriptions/:id';
export const subscriptionRoute = {
  schema: { response: { 200: { ...subscription, properties } } },
};
export const subscriptionExample = response.examples.example.value;
