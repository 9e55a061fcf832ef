import { expireSession, shownSession } from '../checkout/session.ts';
import { homePage, pageHandlers } from '../pages/pages.ts';
import { accountOf } from '../payments/account.ts';
import { describeTestCard, testCards } from '../payments/test-cards.ts';
import type { Settings } from '../state/settings.ts';
import { authenticateControl } from '../wire/authenticate.ts';
import type { Operation } from '../wire/operation.ts';
import type { Control, ControlResponse } from '../wire/server.ts';
import { WireError } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';
import type { Worlds } from '../worlds/worlds.ts';
import { completeAsBuyer } from './checkout.ts';
import * as input from './control-input.ts';
import { authenticate, confirmAsCustomer } from './customer.ts';
import { loadFixtures } from './fixtures.ts';
import { normalName, refuseForeign } from './foreign-request.ts';
import type { Handler, Handlers } from './handler.ts';

const ok = (body: object): ControlResponse => ({ status: 200, body });
const notFound = (method: string, path: string): ControlResponse => ({
  status: 404,
  body: { error: `Not found: ${method} ${path}` },
});

/**
 * The control API: JSON over HTTP for the clock, webhooks and faults of a world, and the pages for cardholders. The API
 * key in the request selects the world. Links to pages contain it in their path, because browsers send no API key.
 * `allowedHosts` are the host names under which the control API may be called, in addition to addresses and localhost.
 */
export function createControl(
  worlds: Worlds,
  operations: readonly Operation[],
  allowedHosts: readonly string[],
): Control {
  const controls = handlersOf(operations);
  const names = new Set(['localhost', ...allowedHosts].map(normalName));
  return async ({ method, path, query, body, authorization, ...from }) => {
    if (method === 'GET' && path === '/') return homePage;
    try {
      const [, linked, local = path] = /^\/worlds\/([^/]+)(\/(?:sandbox|c\/pay\/).*)$/.exec(path) ?? [];
      const parts = local.split('/').slice(2);
      const [area, id = '', ...rest] = parts;
      const find = (handlers: Handlers) =>
        handlers[`${method} ${parts.join('/')}`] ?? handlers[[`${method} ${area}`, '*', ...rest].join('/')];
      const page = find(pageHandlers);
      // Pages have forms, and their addresses cannot be guessed.
      const refused = page === undefined ? refuseForeign({ ...from, body }, names) : undefined;
      if (refused !== undefined) return refused;
      const name = linked ?? authenticateControl(authorization);
      if (method === 'DELETE' && local === '/sandbox/world') return await removeWorld(worlds, name);
      const handler = page ?? find(controls);
      if (handler === undefined) return notFound(method, path);
      // Opening a link must not create a world.
      const world =
        linked !== undefined
          ? await worlds.find(linked)
          : name === null
            ? worlds.default
            : await worlds.open(name);
      return world === undefined ? notFound(method, path) : await handler(world, { body, id, query });
    } catch (error) {
      if (error instanceof input.ControlInputError) return { status: 400, body: { error: error.message } };
      if (error instanceof WireError) return { status: error.status, body: { error: error.message } };
      throw error;
    }
  };
}

async function removeWorld(worlds: Worlds, name: string | null): Promise<ControlResponse> {
  if (name === null)
    throw new input.ControlInputError(
      'The default world cannot be removed. Send the key of the world (sk_test_world_NAME), or empty the default world with POST /sandbox/reset.',
    );
  return ok({ world: name, removed: await worlds.remove(name) });
}

const cardList = testCards.map((card) => ({
  number: card.number,
  payment_method: card.tokens[0],
  brand: card.brand,
  funding: card.funding ?? 'credit',
  description: describeTestCard(card),
}));

const overview = ({ store, deliverer, accountId: account }: World) => {
  const { lastResetMs } = store;
  return ok({ account, now: store.now(), delivery: deliverer.mode, lastResetMs, holds: store.counts() });
};
const reset: Handler = async (world) => {
  await world.reset();
  const { resetWarning: warning, store } = world;
  const { lastResetMs } = store;
  return ok({ reset: true, lastResetMs, ...(warning !== undefined && { warning }) });
};
const clock = ({ store }: World) => ok({ now: store.now(), offsetSeconds: store.clock.offsetSeconds });
const moveClock: Handler = async (world, { body }) => {
  const { store } = world;
  await world.moveClock(input.parseClock(body, store.now(), store.size === 0));
  return clock(world);
};
const dunning = ({ store: { settings } }: World) =>
  ok({
    afterwards: settings.afterDunning,
    firstFailure: settings.firstFailure ?? 'past_due',
    resumption: settings.resumption ?? 'manual',
  });
const account = ({ store, accountId }: World) =>
  ok({ id: accountId, ...accountOf(store), apiVersion: store.settings.apiVersion ?? null });
const voiding = ({ store }: World) => ok({ discounts: store.settings.voidedDiscounts ?? 'used' });
const search = ({ store }: World) => ok({ lagSeconds: store.settings.searchLagSeconds ?? 0 });
const manners = ({ store }: World) => {
  const { mannersSeed: seed = null } = store.settings;
  return ok({ like: seed === null ? null : 'stripe', seed });
};
const changeManners: Handler = async (world, { body }) => {
  world.store.changeSettings(input.parseManners(body));
  world.manners.restart();
  await world.store.written();
  return manners(world);
};
const changing =
  (parse: (body: string) => Partial<Settings>, show: (world: World) => ControlResponse): Handler =>
  async (world, { body }) => {
    world.store.changeSettings(parse(body));
    await world.store.written();
    return show(world);
  };
const checkout = ({ store }: World) => ok({ waitsForWebhook: store.settings.checkoutWaits ?? true });
const expireCheckout: Handler = async (world, { id }) => {
  const { checkoutSessions } = world.store;
  const expire = () => expireSession(world.store, checkoutSessions.existing(id));
  return ok(shownSession(await world.act(checkoutSessions, id, expire)));
};
const delivery = ({ deliverer }: World) => ok({ mode: deliverer.mode, endpoints: deliverer.waiting() });

function handlersOf(operations: readonly Operation[]): Handlers {
  const operationNames = operations.map(({ name }) => name);
  const authenticateIntent: Handler = async (world, { body, id }) =>
    ok(await authenticate(world, id, input.parseAuthentication(body)));

  return {
    'GET ': overview,
    'GET account': account,
    'POST account': changing(input.parseAccount, account),
    'GET clock': clock,
    'POST clock': moveClock,
    'GET delivery': delivery,
    'POST delivery': async (world, { body }) => {
      world.deliverer.setMode(input.parseDelivery(body));
      await world.store.written();
      return delivery(world);
    },
    'POST delivery/flush': async (world) => {
      await world.deliverer.flush();
      return delivery(world);
    },
    'GET dunning': dunning,
    'POST dunning': changing(input.parseDunning, dunning),
    'GET checkout': checkout,
    'POST checkout': changing(input.parseCheckout, checkout),
    'GET voiding': voiding,
    'POST voiding': changing(input.parseVoiding, voiding),
    'GET search': search,
    'POST search': changing(input.parseSearchLag, search),
    'GET manners': manners,
    'POST manners': changeManners,
    'GET faults': ({ faults }) => ok({ faults: faults.list() }),
    'POST faults': ({ faults }, { body }) => {
      faults.set(input.parseFault(body, operationNames));
      return ok({ faults: faults.list() });
    },
    'DELETE faults': ({ faults }) => {
      faults.clear();
      return ok({ faults: [] });
    },
    'DELETE faults/*': ({ faults }, { id }) =>
      faults.remove(id)
        ? ok({ faults: faults.list() })
        : { status: 404, body: { error: `There is no fault '${id}'. It may have met its last request.` } },
    'POST fixtures': async (world, { body }) => {
      const objects = loadFixtures(world, operations, body);
      await world.store.written();
      return ok({ objects });
    },
    'GET operations': () => ok({ operations: operationNames }),
    'POST reset': reset,
    'GET test_cards': () => ok({ test_cards: cardList }),
    'POST checkout_sessions/*/complete': async (world, { body, id }) =>
      ok(await completeAsBuyer(world, id, input.parsePurchase(body))),
    'POST checkout_sessions/*/expire': expireCheckout,
    'POST payment_intents/*/confirm': async (world, { body, id }) =>
      ok(await confirmAsCustomer(world, id, input.parseConfirmation(body))),
    'POST payment_intents/*/authenticate': authenticateIntent,
    'POST setup_intents/*/authenticate': authenticateIntent,
  };
}
