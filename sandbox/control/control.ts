import type { Due } from '../billing/due.ts';
import type { Store } from '../state/store.ts';
import type { Deliverer } from '../webhooks/deliverer.ts';
import type { Control, ControlResponse } from '../wire/server.ts';
import { WireError } from '../wire/wire-error.ts';
import { authenticationPage, completeIntent, invoicePage } from './authentication.ts';
import {
  ControlInputError,
  parseAuthentication,
  parseClock,
  parseDelivery,
  parseDunning,
  parseFault,
  parseSearchLag,
} from './control-input.ts';
import type { Faults } from './faults.ts';

export interface Controlled {
  readonly store: Store;
  readonly due: Due;
  readonly deliverer: Deliverer;
  readonly faults: Faults;
  /** The operations that faults can apply to. */
  readonly operationNames: readonly string[];
}

type Handler = (body: string, id: string, query: string) => Promise<ControlResponse> | ControlResponse;

const ok = (body: object): ControlResponse => ({ status: 200, body });

/** The sandbox's control API: JSON over HTTP for its clock, webhooks and faults, and the pages for cardholders. */
export function createControl(controlled: Controlled): Control {
  const handlers = handlersOf(controlled);
  return async ({ method, path, query, body }) => {
    const parts = path.split('/').slice(2);
    const [area, id = '', ...rest] = parts;
    const handler =
      handlers[`${method} ${parts.join('/')}`] ?? handlers[[`${method} ${area}`, '*', ...rest].join('/')];
    if (handler === undefined) return { status: 404, body: { error: `Not found: ${method} ${path}` } };
    try {
      return await handler(body, id, query);
    } catch (error) {
      if (error instanceof ControlInputError) return { status: 400, body: { error: error.message } };
      if (error instanceof WireError) return { status: error.status, body: { error: error.message } };
      throw error;
    }
  };
}

function handlersOf({
  store,
  due,
  deliverer,
  faults,
  operationNames,
}: Controlled): Readonly<Record<string, Handler>> {
  const clock = () => ok({ now: store.now(), offsetSeconds: store.clock.offsetSeconds });
  const delivery = () => ok({ mode: deliverer.mode, endpoints: deliverer.waiting() });
  const search = () => ok({ lagSeconds: store.settings.searchLagSeconds ?? 0 });
  const authenticate = async (id: string, succeeded: boolean) => {
    const intent = store.transact(null, () => completeIntent(store, id, succeeded));
    await store.written();
    return intent;
  };

  return {
    'GET ': () => ok({ now: store.now(), delivery: deliverer.mode, holds: store.counts() }),
    'GET clock': clock,
    'POST clock': async (body) => {
      await due.advanceTo(parseClock(body, store.now()));
      return clock();
    },
    'GET delivery': delivery,
    'POST delivery': async (body) => {
      deliverer.setMode(parseDelivery(body));
      await store.written();
      return delivery();
    },
    'POST delivery/flush': async () => {
      await deliverer.flush();
      return delivery();
    },
    'GET dunning': () => ok({ afterwards: store.settings.afterDunning }),
    'POST dunning': async (body) => {
      store.changeSettings({ afterDunning: parseDunning(body) });
      await store.written();
      return ok({ afterwards: store.settings.afterDunning });
    },
    'GET search': search,
    'POST search': async (body) => {
      store.changeSettings({ searchLagSeconds: parseSearchLag(body) });
      if (store.settings.searchLagSeconds === 0) store.searchLag.clear();
      await store.written();
      return search();
    },
    'GET faults': () => ok({ faults: faults.list() }),
    'POST faults': (body) => {
      faults.set(parseFault(body, operationNames));
      return ok({ faults: faults.list() });
    },
    'DELETE faults': () => {
      faults.clear();
      return ok({ faults: [] });
    },
    'GET operations': () => ok({ operations: operationNames }),
    'POST reset': async () => {
      faults.clear();
      due.reset();
      await deliverer.reset();
      await store.reset();
      return ok({ reset: true });
    },
    'POST payment_intents/*/authenticate': async (body, id) =>
      ok(await authenticate(id, parseAuthentication(body))),
    'POST setup_intents/*/authenticate': async (body, id) =>
      ok(await authenticate(id, parseAuthentication(body))),
    'GET authenticate/*': (_, id, query) => authenticationPage(store, id, query),
    'POST authenticate/*': async (body, id, query) => {
      const page = authenticationPage(store, id, query);
      if (page.status !== 200) return page;
      await authenticate(id, body.includes('result=succeeded'));
      return authenticationPage(store, id, query);
    },
    'GET invoices/*': (_, id) => invoicePage(store, id),
  };
}
