import { effect, signal } from '@preact/signals';
import type { TillEvent } from '@till/client';
import { isReachable, isSignedIn, till } from '../session.ts';

/** A person cannot read faster. On a busy Till, each tab combines the events of this time into one request. */
const intervalMs = 1_000;
/** The delay after errors that the client does not retry. A server that is down gets few requests from each tab. */
const retryMs = 5_000;
/** Pages wait for the position before they load, and a connection may be dead. */
const positionTimeoutMs = 10_000;
/** A connection that dies silently is noticed after both of these, which must be less than 5 seconds. */
const pulseIntervalMs = 1_500;
const pulseTimeoutMs = 2_500;
/** Its response has no content: 503 without the database, from which changes come. */
const pulsePath = '/console/pulse';
const unavailable = 503;

type Listener = (change: TillEvent | { readonly missedBefore: number }) => void;

/** `live` while changes arrive as they happen. */
export const liveState = signal<'off' | 'connecting' | 'live'>('off');

const listeners = new Set<Listener>();

/** How often a position in the events was read. Changes arrive since the last one. */
let position = 0;
let readingPosition: Promise<unknown> = Promise.resolve();

/**
 * The position from which changes arrive. Waits until it is known, so that what is loaded afterwards needs no reload.
 */
export async function livePosition(): Promise<number> {
  await readingPosition;
  return position;
}

/** Calls the listener with every change from now on, and with a position before which some may not have arrived. */
export function onChanges(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Follows the events while a user is signed in and the tab is visible. A browser opens six connections to a host in all
 * its tabs together, so a hidden tab must not keep one.
 */
export function followChanges(): () => void {
  const isVisible = signal(!document.hidden);
  const update = () => {
    isVisible.value = !document.hidden;
  };
  document.addEventListener('visibilitychange', update);
  const stop = effect(() => {
    if (!isSignedIn.value || !isVisible.value) return undefined;
    const stopped = new AbortController();
    void follow(stopped.signal);
    return () => {
      stopped.abort();
      liveState.value = 'off';
    };
  });
  return () => {
    document.removeEventListener('visibilitychange', update);
    stop();
  };
}

async function follow(signal: AbortSignal): Promise<void> {
  const onConnected = (is: boolean) => {
    if (!signal.aborted) liveState.value = is ? 'live' : 'connecting';
  };
  while (!signal.aborted) {
    onConnected(false);
    const lost = new AbortController();
    try {
      const after = await readPosition(signal);
      publish({ missedBefore: position });
      onConnected(true);
      const both = AbortSignal.any([signal, lost.signal]);
      void watchPulse(both).then(() => lost.abort());
      const feed = till().events.follow({ after, signal: both, intervalMs, onConnected });
      for await (const event of feed) publish(event);
    } catch {
      // Till does not respond, or no longer keeps this position, for example after months without a connection.
      lost.abort();
      onConnected(false);
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}

async function readPosition(signal: AbortSignal): Promise<string | undefined> {
  const read = till().events.latestCursor({ signal, timeoutMs: positionTimeoutMs });
  readingPosition = read.then(
    () => {
      position += 1;
    },
    () => {},
  );
  const after = await read;
  await readingPosition;
  return after;
}

/**
 * Regularly asks whether Till responds and reaches its database, and ends when it does not. A request that waits for
 * events would not notice.
 */
async function watchPulse(signal: AbortSignal): Promise<void> {
  const pause = () => new Promise((resolve) => setTimeout(resolve, pulseIntervalMs));
  try {
    for (;;) {
      await pause();
      if (signal.aborted) return;
      const timeout = AbortSignal.timeout(pulseTimeoutMs);
      const { status } = await fetch(pulsePath, { cache: 'no-store', credentials: 'omit', signal: timeout });
      if (status === unavailable) return;
    }
  } catch {
    isReachable.value = false;
  }
}

function publish(change: Parameters<Listener>[0]): void {
  for (const listener of [...listeners]) listener(change);
}
