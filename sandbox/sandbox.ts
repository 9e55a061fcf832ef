import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createControl } from './control/control.ts';
import { operations } from './resources/operations.ts';
import type { Retention } from './state/retention.ts';
import { Api } from './wire/api.ts';
import { createWireServer } from './wire/server.ts';
import type { WorldLog } from './worlds/world.ts';
import { Worlds } from './worlds/worlds.ts';

export interface Sandbox {
  readonly url: string;
  readonly port: number;
  /** Writes the default world to a folder. For a sandbox that was started without one. */
  save(dataDir: string): Promise<void>;
  close(): Promise<void>;
}

export type SandboxLog = WorldLog;

export interface SandboxOptions {
  readonly host?: string | undefined;
  /** Any free port, unless given. */
  readonly port?: number;
  /** The base address of links to its pages. By default, its own address. */
  readonly linkUrl?: string | undefined;
  /** The folder for the state. Without it, the state is only in memory. */
  readonly dataDir?: string | undefined;
  /** An endpoint that receives every event of the default world, in addition to those registered through the API. */
  readonly webhook?: { readonly url: string; readonly secret: string } | undefined;
  /**
   * Called with how far the clock of the default world is ahead of real time, at the start and when the clock was
   * moved. The response to the request that moved it waits for this.
   */
  readonly onClock?: ((aheadSeconds: number) => void | Promise<void>) | undefined;
  /** Added to the response to a reset of the default world. */
  readonly resetWarning?: string | undefined;
  readonly log?: SandboxLog;
  /** Host names under which the control API may be called, in addition to `host`, localhost and addresses. */
  readonly allowedHosts?: readonly string[];
  /** The account of the default world. */
  readonly accountId?: string;
  /** How many obsolete entries a world keeps, such as delivered events. */
  readonly retention?: Retention;
}

/**
 * A processor that needs no account and no network. It keeps state, serves the real wire API, and sends signed
 * webhooks. Tests can move its clock and inject faults.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const host = options.host ?? '127.0.0.1';
  const log: SandboxLog = options.log ?? (() => {});
  const logError = (fields: object, message: string) => log('error', fields, message);
  let url = '';
  const worlds = new Worlds({
    folder: options.dataDir === undefined ? null : join(options.dataDir, 'sandbox'),
    accountId: options.accountId ?? accountIdDefault,
    url: () => options.linkUrl ?? url,
    webhook: options.webhook,
    onClock: options.onClock,
    resetWarning: options.resetWarning,
    log,
    retention: options.retention,
  });
  await worlds.load();
  const api = new Api({ worlds, operations, logError });
  const control = createControl(worlds, operations, [host, ...(options.allowedHosts ?? [])]);
  const server = createWireServer(api, control, logError, options.linkUrl);
  try {
    server.listen(options.port ?? 0, host);
    await once(server, 'listening');
  } catch (error) {
    await worlds.close();
    throw error;
  }
  // The address of a TCP server is an object. Only that of a pipe is a string.
  const { port } = server.address() as AddressInfo;
  url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

  await worlds.start();
  log('info', { url, dataDir: options.dataDir ?? null }, 'sandbox listening');

  const close = async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    await worlds.close();
  };
  let closing: Promise<void> | null = null;
  return {
    url,
    port,
    save: (dataDir) => worlds.save(join(dataDir, 'sandbox')),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Fixed, so that every sandbox looks like the same account to clients that store the id. */
const accountIdDefault = 'acct_sandbox';
