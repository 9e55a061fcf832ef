import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Due } from './billing/due.ts';
import { createControl } from './control/control.ts';
import { Faults } from './control/faults.ts';
import { operations } from './resources/operations.ts';
import { Journal } from './state/journal.ts';
import { Store } from './state/store.ts';
import { Deliverer } from './webhooks/deliverer.ts';
import { Api } from './wire/api.ts';
import { createWireServer } from './wire/server.ts';

export interface Sandbox {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

export type SandboxLog = (level: 'info' | 'warn' | 'error', fields: object, message: string) => void;

export interface SandboxOptions {
  readonly host?: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** The folder for the state. Without it, the state is only in memory. */
  readonly dataDir?: string;
  /** An endpoint that receives every event, besides those registered through the API. */
  readonly webhook?: { readonly url: string; readonly secret: string };
  readonly log?: SandboxLog;
  /** The account that all keys belong to. */
  readonly accountId?: string;
}

/**
 * A processor that needs no account and no network. It keeps state, serves the real wire API, and sends signed
 * webhooks. Tests can move its clock and inject faults.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const host = options.host ?? '127.0.0.1';
  const log: SandboxLog = options.log ?? (() => {});
  const logError = (fields: object, message: string) => log('error', fields, message);
  const store = new Store();
  const { journal, doneUntil } = await openJournal(store, options.dataDir);

  let url = '';
  const baseUrl = () => url;
  const faults = new Faults();
  const deliverer = new Deliverer(store, options.webhook ?? null, (fields, message) =>
    log('warn', fields, message),
  );
  const due = new Due(store, baseUrl, logError);
  const api = new Api({
    store,
    faults,
    operations,
    baseUrl,
    accountId: options.accountId ?? accountIdDefault,
    logError,
  });
  const operationNames = operations.map(({ name }) => name);
  const control = createControl({ store, due, deliverer, faults, operationNames });
  const server = createWireServer(api, control, logError);
  try {
    server.listen(options.port, host);
    await once(server, 'listening');
  } catch (error) {
    await journal?.close();
    throw error;
  }
  // The address of a TCP server is an object; only that of a pipe is a string.
  const { port } = server.address() as AddressInfo;
  url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

  due.start(doneUntil);
  await due.advanceTo(store.now());
  deliverer.start();
  log('info', { url, dataDir: options.dataDir ?? null }, 'sandbox listening');

  const close = async () => {
    const closed = once(server, 'close');
    server.close();
    faults.clear();
    server.closeAllConnections();
    await closed;
    await due.close();
    await deliverer.close();
    await journal?.close();
  };
  let closing: Promise<void> | null = null;
  return {
    url,
    port,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Fixed, so that every sandbox looks like the same account to clients that store the id. */
const accountIdDefault = 'acct_sandbox';

async function openJournal(store: Store, dataDir: string | undefined) {
  if (dataDir === undefined) return { journal: null, doneUntil: 0 };
  let lines = 0;
  let lastAtMs = 0;
  const journal = await Journal.open(join(dataDir, 'sandbox', 'journal.jsonl'), (line) => {
    lines += 1;
    lastAtMs = Math.max(lastAtMs, store.restore(line));
  });
  const doneUntil = Math.floor(lastAtMs / 1_000) + store.clock.offsetSeconds;
  store.clock.catchUp();
  store.keepIn(journal);
  store.forgetExpired();
  if (lines > compactAboveLines && lines > compactAboveRatio * store.size) await store.compact();
  return { journal, doneUntil };
}

/** A shorter journal loads quickly anyway. */
const compactAboveLines = 10_000;
/** A rewritten journal has about one line per object. Rewrite it when a third of its lines are obsolete. */
const compactAboveRatio = 1.5;
