import type { Backend, Lifetime } from './backend.ts';
import { type ChildOptions, startInChild, type TillInChild } from './till-in-child.ts';
import { type ProcessOptions, startInProcess, type TillInProcess } from './till-in-process.ts';

/** What a Till runs on: a backend that it shares, or, given only a test's context, a backend of its own. */
type Place = { readonly on: Backend } | { readonly for: Lifetime };

/**
 * Starts a Till for a test.
 *
 * - `in: 'process'`: all of its parts in the test's own process, on real sockets. Nothing runs in the background: the
 *   test applies webhook events itself (`drain`, `settle`) and can reach `services`. Choose this unless the test needs
 *   more; it is the cheapest.
 * - `in: 'child'`: the service as users run it, in a process of its own, for tests that kill it, signal it, restart it,
 *   or read its output. Its environment is `environment` and nothing else; with `on`, it also gets the backend's
 *   database, processor and secrets.
 *
 * `for` and `on` decide when it ends: with the test, or with the backend. A child without either ends when the test
 * stops it.
 */
export function startTill(
  options: { readonly in: 'process' } & Place & ProcessOptions,
): Promise<TillInProcess>;
export function startTill(
  options: { readonly in: 'child' } & Partial<Place> & ChildOptions,
): Promise<TillInChild>;
export function startTill(
  options:
    | ({ readonly in: 'process' } & Place & ProcessOptions)
    | ({ readonly in: 'child' } & Partial<Place> & ChildOptions),
): Promise<TillInProcess | TillInChild> {
  return options.in === 'process' ? startInProcess(options) : startInChild(options);
}
