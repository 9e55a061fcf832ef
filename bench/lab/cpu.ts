import { readdirSync, readFileSync } from 'node:fs';

/** Linux reports CPU time to user space in hundredths of a second, on every machine. */
export const msPerTick = 10;

/** The parent of all threads of the kernel. */
const kernelPid = 2;

interface ProcessTimes {
  readonly pid: number;
  readonly name: string;
  readonly parent: number;
  readonly ownMs: number;
  /** Of children that have ended and were waited for. */
  readonly endedChildrenMs: number;
}

/** The CPU time of processes, including all of their threads. */
export function cpuMsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (readTimes(pid)?.ownMs ?? 0), 0);
}

/** The CPU time of a process and of everything below it, including what has ended. */
export function cpuMsOfTree(pid: number): number {
  const root = readTimes(pid);
  if (root === undefined) throw new Error(`process ${pid} has ended`);
  const all = readdirSync('/proc').flatMap((name) =>
    /^\d+$/.test(name) ? (readTimes(Number(name)) ?? []) : [],
  );
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  const sumOf = ({ pid, ownMs, endedChildrenMs }: ProcessTimes): number =>
    (byParent.get(pid) ?? []).reduce((sum, child) => sum + sumOf(child), ownMs + endedChildrenMs);
  return sumOf(root);
}

/** The CPU time of the kernel's threads. 0 in a container, which does not show them. */
export function cpuMsOfKernel(): number {
  const parent = readTimes(kernelPid);
  return parent?.name === 'kthreadd' ? cpuMsOfTree(kernelPid) : 0;
}

export function residentMbOf(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kilobytes === undefined) throw new Error(`process ${pid} reports no memory`);
  return Number(kilobytes) / 1_024;
}

function readTimes(pid: number): ProcessTimes | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name is in brackets and may itself contain brackets and spaces. The numbers start after the last bracket.
    const nameEnd = text.lastIndexOf(')');
    const fields = text.slice(nameEnd + 2).split(' ');
    const ticks = (index: number) => Number(fields[index]) * msPerTick;
    return {
      pid,
      name: text.slice(text.indexOf('(') + 1, nameEnd),
      parent: Number(fields[1]),
      ownMs: ticks(11) + ticks(12),
      endedChildrenMs: ticks(13) + ticks(14),
    };
  } catch {
    return undefined;
  }
}
