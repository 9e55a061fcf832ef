import { readFileSync } from 'node:fs';

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
const response =
  document.paths['/api/v1/subscriptions/{id}'].get.responses['200'].content['application/json'];

/** The path and the response of the compared route, from the service's own description. */
export const subscriptionPath = '/api/v1/subscriptions/:id';
export const subscriptionRoute = {
  schema: { response: { 200: document.components.schemas.Subscription } },
};
export const subscriptionExample = response.examples.example.value;
