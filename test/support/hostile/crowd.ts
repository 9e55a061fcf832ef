import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Connections of one kind. One that was cut is opened again. */
export interface Crowd {
  readonly kind: string;
  readonly count: number;
  /** What they send, in turn. Empty if they send nothing. */
  readonly openings: readonly string[];
  /** What each sends at this rate after its opening. */
  readonly drip?: { readonly text: string; readonly everyMs: number };
  /** Whether they never complete a head. Then they are all opened at once, and only those that were cut in turn. */
  readonly asksNothing?: boolean;
  /** Whether they leave what they get in the buffers. */
  readonly readsNothing?: boolean;
  /** Whether they send their opening again after each response. */
  readonly repeats?: boolean;
}

export interface Target {
  readonly host: string;
  readonly port: number;
  /** The addresses from which the connections come, in turn. */
  readonly from: readonly string[];
  /** How many requests all of them send a second. */
  readonly requestsPerSecond: number;
}

/** What has become of the connections of one kind. */
export interface Outcome {
  /** How often a connection was opened, or sent its opening again. */
  sent: number;
  open: number;
  /** How many the other side has closed. Those that read nothing do not notice. */
  cut: number;
  refused: number;
  /** How many responses had which status. */
  readonly statuses: Record<string, number>;
}

export interface Report {
  readonly outcomes: Readonly<Record<string, Outcome>>;
  /** Whether every connection has been open. */
  readonly isComplete: boolean;
}

export type ToClients =
  | { readonly start: readonly Crowd[]; readonly target: Target }
  | { readonly look: true }
  | { readonly leave: true };

const program = fileURLToPath(new URL('clients.ts', import.meta.url));

export interface HostileClients extends AsyncDisposable {
  look(): Promise<Report>;
  /** Closes all connections. Resolves when they are closed. */
  leave(): Promise<Report>;
}

/** Starts them in a process of their own, so that the memory of the process that they attack is its own. */
export async function startHostileClients(crowds: readonly Crowd[], target: Target): Promise<HostileClients> {
  const child = fork(program, { execArgv: [] });
  const ask = async (message: ToClients): Promise<Report> => {
    const answer = once(child, 'message');
    child.send(message);
    const [report] = await answer;
    return report as Report;
  };
  await ask({ start: crowds, target });
  return {
    look: () => ask({ look: true }),
    leave: () => ask({ leave: true }),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}
