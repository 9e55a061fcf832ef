import { readFileSync } from 'node:fs';

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
const answer = document.paths['/api/v1/subscriptions/{id}'].get.responses['200'].content['application/json'];

/** The path and the answer of the route that is compared, as the service itself describes them. */
export const subscriptionPath = '/api/v1/subscriptions/:id';
export const subscriptionRoute = { schema: { response: { 200: answer.schema } } };
export const subscriptionExample = answer.examples.example.value;
