import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The resources that a process has at one time. */
export interface Holding {
  readonly rssMegabytes: number;
  readonly handles: number;
  readonly connections: number;
}

/** Reads the resources of a process from `/proc`. */
export function holdingOf(pid: number): Holding {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const links = readdirSync(`/proc/${pid}/fd`).map((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`);
    } catch {
      // Closed between the two looks.
      return '';
    }
  });
  return {
    rssMegabytes: Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024,
    handles: links.length,
    connections: links.filter((link) => link.startsWith('socket:')).length,
  };
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
