import type { MetricReport } from './merge-metrics.ts';

/** The values that a process needs besides the settings, which it reads itself. */
export interface Seat {
  /** From 1. A replacement has the number of the process that it replaces. */
  readonly number: number;
  readonly count: number;
  readonly poolSize: number;
  readonly hasBackgroundWork: boolean;
  /** Set if the parent runs the embedded PostgreSQL. */
  readonly databaseUrl: string | undefined;
  /** Set if the parent runs the sandbox. */
  readonly sandbox: SharedSandbox | undefined;
}

export interface SharedSandbox {
  readonly url: string;
  readonly webhookSecrets: readonly string[];
  /** How far its clock is ahead of the machine's. */
  readonly clockAheadSeconds: number;
}

/** The state of all processes, which each of them reports as its own. */
export interface GroupState {
  readonly serving: number;
  readonly restarts: number;
}

/** What a process is asked. It answers with its metrics, or once it acts on the clock. */
export type Question =
  | { readonly kind: 'report' }
  /** How far the sandbox's clock is ahead of the machine's. */
  | { readonly kind: 'clock'; readonly aheadSeconds: number };

export type ToProcess =
  | { readonly kind: 'begin'; readonly seat: Seat }
  | { readonly kind: 'state'; readonly state: GroupState }
  /** Another process has stored background work. */
  | { readonly kind: 'work' }
  /** Another process has taken over: finish the open requests, and end. */
  | { readonly kind: 'retire' }
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question }
  | { readonly kind: 'reports'; readonly id: number; readonly reports: readonly MetricReport[] };

export type ToParent<Facts> =
  | { readonly kind: 'hello' }
  | { readonly kind: 'ready'; readonly facts: Facts }
  | { readonly kind: 'work' }
  | { readonly kind: 'answer'; readonly id: number; readonly report?: MetricReport }
  /**
   * Requests the metrics of all other processes. It includes the process's own metrics, which must not be lost if the
   * process dies.
   */
  | { readonly kind: 'gather'; readonly id: number; readonly own: MetricReport }
  /** The metrics of this process, before it ends. */
  | { readonly kind: 'leave'; readonly report: MetricReport };
