import { randomUUID } from 'node:crypto';
import { type Scope, scopes } from '#core/model/api-key.ts';
import { grants } from '#http/access/api-guard.ts';
import { createCustomer, createSubscription, saveCard } from '../../support/objects.ts';
import type { Documented } from '../../support/openapi-document.ts';
import { type ApiRequest, exampleRequest, rightRequest, unknownId } from '../../support/right-requests.ts';
import { until } from '../../support/until.ts';
import { eventOf, signWebhook } from '../../support/webhook-events.ts';
import { oncePer, type Prepared, type Recipe, type Scene } from './recipe.ts';

/** Recipes for codes that mean the same everywhere. Those of one operation go before them. */
export const everywhere: Readonly<Record<string, Recipe>> = {
  200: succeed,
  201: succeed,
  202: succeed,
  204: succeed,
  304: async (scene, operation) => ({
    ...(await succeed(scene, operation)),
    headers: { 'if-none-match': '*' },
  }),
  malformed_request: () => ({ headers: { host: 'another.example.com' } }),
  invalid_request: (_scene, operation) => ({ ...exampleRequest(operation), query: '?unknown=1' }),
  unauthorized: () => ({ key: 'wrong', headers: { 'x-forwarded-for': nextAddress() } }),
  forbidden: ({ keys }, { scope }) => ({ key: keys[otherThan(scope)] }),
  rate_limited: ({ stingy }) => ({ to: stingy }),
  not_found: (_scene, operation) => ({ ...exampleRequest(operation), id: unknownId }),
  // A batch of usage may be larger than any other body. None of it needs to arrive.
  payload_too_large: () => ({ headers: { 'content-length': '4194305' } }),
  request_timeout: ({ hasty }) => ({ headers: { 'content-length': '100' }, to: hasty }),
  unsupported_media_type: () => ({ raw: 'hello', headers: { 'content-type': 'text/plain' } }),
  idempotency_key_in_flight: async (scene, operation) => {
    const { request, key } = await completed(scene, operation);
    // As if another process still worked on it.
    await setCompleted(scene, key, false);
    return { ...request, to: scene.impatient, undo: () => setCompleted(scene, key, true) };
  },
  idempotency_key_reused: async (scene, operation) => {
    const { request } = await completed(scene, operation);
    const other = change(operation);
    // Where the body has nothing to change, the request is about another object.
    if (other === undefined) return { ...request, id: unknownId };
    return { ...request, body: { ...Object(request.body), ...other } };
  },
  subscription_busy: async (scene, operation) => {
    const request = await requestAboutSubscription(scene, operation);
    await takeTurn(scene, request.subscriptionId);
    return { ...request, to: scene.impatient, undo: () => endTurn(scene, request.subscriptionId) };
  },
};

/** The processor refuses whatever it is asked. Later, the same request succeeds. */
export const refusedByProcessor: Recipe = async (scene, operation) => {
  const request = await succeed(scene, operation);
  scene.proxy.refuse({
    ...{ path: /./, withReads: true, status: 400, headers: {} },
    body: { error: { type: 'invalid_request_error', code: 'parameter_invalid', message: 'Invalid value.' } },
  });
  return { ...request, to: scene.impatient, undo: () => scene.proxy.refuse(undefined) };
};

/** Another process has the turn of the subscription. */
export async function takeTurn({ sql }: Pick<Scene, 'sql'>, subscriptionId: string): Promise<void> {
  await sql(
    `insert into till.subscription_turns (subscription_id, writer_id, owner, leased_until)
     values ($1, $2, 1, now() + interval '1 day')
     on conflict (subscription_id) do update set writer_id = $2, leased_until = excluded.leased_until`,
    [subscriptionId, unknownId],
  );
}

/** The other process has stopped for longer than its lease. */
function endTurn({ sql }: Scene, subscriptionId: string) {
  return sql('update till.subscription_turns set leased_until = now() where subscription_id = $1', [
    subscriptionId,
  ]);
}

/** The request of an operation that must succeed. It is the same until it does: what is refused changes nothing. */
export function succeed(scene: Scene, operation: Documented): Promise<Prepared> {
  return oncePer(scene, `right ${operation.name}`, () => right(scene, operation));
}

async function right(scene: Scene, operation: Documented): Promise<Prepared> {
  if (operation.name !== 'POST /webhooks/processor') return rightRequest(scene, operation);
  const raw = eventOf('balance.available');
  return { raw, headers: { 'stripe-signature': signWebhook(raw) } };
}

/** A request of an operation that has succeeded with an idempotency key. */
function completed(scene: Scene, operation: Documented) {
  return oncePer(scene, `completed ${operation.name}`, async () => {
    const key = randomUUID();
    const request: Prepared = { ...(await right(scene, operation)), headers: { 'idempotency-key': key } };
    await scene.send(operation, request);
    return { request, key };
  });
}

/** A claim may be completed after the response. */
async function setCompleted({ sql }: Scene, key: string, isCompleted: boolean): Promise<void> {
  const completedAt = isCompleted ? 'now()' : 'null';
  await until(async () => {
    const changed = await sql(
      `update till.idempotency_claims set completed_at = ${completedAt}, leased_until = now() + interval '1 day'
       where key = $1 and (completed_at is null) = $2 returning key`,
      [key, isCompleted],
    );
    return changed.length > 0;
  });
}

/** A request that changes a subscription, and its id. */
export async function requestAboutSubscription(scene: Scene, operation: Documented) {
  if (operation.path.startsWith('/api/v1/subscriptions')) {
    const request = await right(scene, operation);
    return { ...request, subscriptionId: String(request.id) };
  }
  const { id } = await createCustomer(scene);
  const { subscription } = await createSubscription(scene, { customerId: id, trialPeriodDays: 7 });
  const { paymentMethodId } = await saveCard(scene, { id });
  const request: ApiRequest = { id, body: { paymentMethodId } };
  return { ...request, subscriptionId: subscription.id };
}

/** What makes the body another one. */
function change({ requestBody }: Documented): object | undefined {
  const fields = requestBody?.content['application/json']?.schema.properties ?? {};
  const others = { amount: 1_001, quantity: 7, name: 'another', url: 'http://127.0.0.1:9/other' };
  const name = Object.keys(others).find((field) => field in fields);
  return name === undefined ? undefined : { [name]: Reflect.get(others, name) };
}

function otherThan(scope: string | null): Scope {
  const needed = scopes.find((one) => one === scope);
  const other = scopes.find((one) => needed !== undefined && !grants([one], needed));
  if (other === undefined) throw new Error(`every API key has the scope ${scope}`);
  return other;
}

let addresses = 0;

/** Only so many wrong API keys a minute are refused for one address. */
export function nextAddress(): string {
  addresses += 1;
  return `198.18.${Math.trunc(addresses / 250) % 250}.${addresses % 250}`;
}
