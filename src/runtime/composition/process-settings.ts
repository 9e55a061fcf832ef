import { availableParallelism } from 'node:os';
import type { EnvironmentReader } from '#core/platform/environment.ts';
import { settings } from './settings.ts';

/** A hundred processes need a machine with a hundred cores, and at least two hundred connections. */
const processesMax = 128;

/**
 * With `auto` there is always a parent, because the signal that replaces its processes would end a service without one.
 */
export function readProcesses(env: EnvironmentReader): number | undefined {
  const text = env.text('PROCESSES') ?? settings.PROCESSES.default;
  if (text === 'auto') return Math.min(availableParallelism(), processesMax);
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (count === 1) return undefined;
  if (count > 1 && count <= processesMax) return count;
  const seen = JSON.stringify(text.slice(0, processesTextMax));
  env.mistakes.push(`PROCESSES is ${seen}; allowed: a whole number from 1 to ${processesMax}, or auto`);
  return undefined;
}

/** The value that a mistake quotes. */
const processesTextMax = 20;
/** With only one connection, a statement that waits for a lock would block its process. */
const connectionsPerProcessMin = 2;

/** The connections of all processes together. */
export function readPoolSize(env: EnvironmentReader, size: number, processes = 1): number {
  const sizeMin = processes === 1 ? 1 : processes * connectionsPerProcessMin;
  if (size >= sizeMin) return size;
  if (env.has('DATABASE_POOL_SIZE'))
    env.mistakes.push(
      `DATABASE_POOL_SIZE is ${size}; allowed with PROCESSES=${processes}: at least ${sizeMin}`,
    );
  return sizeMin;
}

/** Undefined: the limits of the processor. */
export function readRequestsPerSecond(env: EnvironmentReader): number | undefined {
  const name = 'PROCESSOR_REQUESTS_PER_SECOND';
  return env.has(name) ? env.integer(name, { ...settings[name], default: 0 }) || undefined : undefined;
}
