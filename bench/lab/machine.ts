import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { CoreWatch } from './core-watch.ts';
import { cpuMsOfKernel, cpuMsOfTree, msPerTick } from './cpu.ts';

/**
 * The largest share of the machine's CPU time that something else may use. An idle system uses less than one percent,
 * and a single busy process half of two cores.
 */
export const othersShareMax = 0.05;

/** CPU times since the start of the machine, in milliseconds. */
export interface MachineTimes {
  readonly atMs: number;
  /** Of all processes. */
  readonly busyMs: number;
  /** What the host gave to other machines. */
  readonly stolenMs: number;
  /**
   * Of this process, of everything that it started, and of the kernel, whose threads write the benchmark's data and
   * free its memory: up to a tenth of two cores after millions of rows.
   */
  readonly ownMs: number;
}

export function readMachine(): MachineTimes {
  return {
    atMs: performance.now(),
    ...parseStat(readFileSync('/proc/stat', 'latin1')),
    ownMs: cpuMsOfTree(process.pid) + cpuMsOfKernel(),
  };
}

/** Without the time of interrupts: the benchmark itself causes most of it, and it belongs to no process. */
export function parseStat(stat: string): Pick<MachineTimes, 'busyMs' | 'stolenMs'> {
  const [user = 0, nice = 0, system = 0, , , , , steal = 0] = (/^cpu +(.+)$/m.exec(stat)?.[1] ?? '')
    .split(' ')
    .map((ticks) => Number(ticks) * msPerTick);
  return { busyMs: user + nice + system, stolenMs: steal };
}

/** The share of the machine's CPU time that other processes and other machines used in between. */
export function othersShare(from: MachineTimes, to: MachineTimes, cores = availableParallelism()): number {
  const othersMs = to.busyMs - from.busyMs - (to.ownMs - from.ownMs) + to.stolenMs - from.stolenMs;
  return Math.max(0, othersMs) / ((to.atMs - from.atMs) * cores);
}

/** How a scenario took its time. */
export interface ScenarioTime {
  readonly names: readonly string[];
  readonly seconds: number;
  readonly othersShare: number;
  /** The time of a fixed piece of work, by which the cores of scenarios can be compared. */
  readonly workMs: number;
}

/** Measures the time from now on, until the returned function is called. */
export function timeScenario(names: readonly string[], cores: CoreWatch): () => ScenarioTime {
  const from = readMachine();
  return () => {
    const to = readMachine();
    return {
      names,
      seconds: (to.atMs - from.atMs) / 1_000,
      othersShare: othersShare(from, to),
      workMs: cores.workMsSince(from.atMs),
    };
  };
}

export function describeTimes(times: readonly ScenarioTime[]): string {
  const total = times.reduce((sum, { seconds }) => sum + seconds, 0);
  const fastestMs = Math.min(...times.map(({ workMs }) => workMs));
  const lines = times.map(
    (time) =>
      `${time.seconds.toFixed(1).padStart(8)} s  ${percent(time.othersShare).padStart(4)} by others  cores ${(time.workMs / fastestMs).toFixed(2)}  ${time.names.join(', ')}`,
  );
  return [...lines, `${total.toFixed(1).padStart(8)} s  in total`].join('\n');
}

/** Why the results say nothing, or undefined if the machine was quiet. */
export function describeDisturbance(times: readonly ScenarioTime[]): string | undefined {
  const disturbed = times.filter((time) => time.othersShare > othersShareMax);
  if (disturbed.length === 0) return undefined;
  const worst = Math.max(...disturbed.map((time) => time.othersShare));
  const names = disturbed.map((time) => time.names[0]).join(', ');
  return `something else used up to ${percent(worst)} of the CPU time; at most ${percent(othersShareMax)} is allowed: ${names}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
