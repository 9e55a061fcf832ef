import { effect, signal } from '@preact/signals';
import { apiKey } from '../session.ts';
import { ApiError } from './api-error.ts';
import { readEventStream } from './read-event-stream.ts';
import { get, send } from './request.ts';
import type { Page, TillEvent } from './types.ts';

/** The first try again comes soon; a server that is down gets one every half minute from each tab. */
const retryMsMin = 1_000;
const retryMsMax = 30_000;
/** Matches no object. A page of its events is empty, and says where the feed ends. */
const noObject = '00000000-0000-7000-8000-000000000000';

type Listener = (events: readonly TillEvent[] | 'missed') => void;

/** `live` while changes arrive as they happen. */
export const liveState = signal<'off' | 'connecting' | 'live'>('off');

const listeners = new Set<Listener>();

/** Calls the listener with every change from now on, or with `missed` if some may not have arrived. */
export function onChanges(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Follows the event stream while a user is signed in and the tab is visible. A browser opens six connections to a host
 * in all its tabs together, so a hidden tab must not keep one.
 */
export function followChanges(): () => void {
  const isVisible = signal(!document.hidden);
  const update = () => {
    isVisible.value = !document.hidden;
  };
  document.addEventListener('visibilitychange', update);
  const stop = effect(() => {
    if (apiKey.value === null || !isVisible.value) return undefined;
    const stopped = new AbortController();
    void follow(stopped.signal);
    return () => stopped.abort();
  });
  return () => {
    document.removeEventListener('visibilitychange', update);
    stop();
  };
}

async function follow(stopped: AbortSignal): Promise<void> {
  let after: string | null | undefined;
  let retryMs = retryMsMin;
  while (!stopped.aborted) {
    liveState.value = 'connecting';
    try {
      // Pages may have been read before the stream begins here.
      if (after === undefined) {
        after = await findEnd(stopped);
        publish('missed');
      }
      const response = await send(after === null ? '/events' : `/events?after=${encodeURIComponent(after)}`, {
        headers: { accept: 'text/event-stream' },
        signal: stopped,
      });
      liveState.value = 'live';
      retryMs = retryMsMin;
      for await (const events of readEventStream(response)) {
        after = events.at(-1)?.id ?? after;
        publish(events);
      }
    } catch (error) {
      // The place is older than what the server keeps, for example after a night without a connection.
      if (error instanceof ApiError && error.status === 410) after = undefined;
    }
    if (!stopped.aborted) await delay(retryMs * (0.5 + Math.random()), stopped);
    retryMs = Math.min(retryMs * 2, retryMsMax);
  }
  liveState.value = 'off';
}

/** The id of the newest event. Null if there is none yet. */
async function findEnd(signal: AbortSignal): Promise<string | null> {
  const page = await get<Page<TillEvent>>('/events', { objectId: noObject, limit: 1 }, signal);
  return page.nextCursor ?? null;
}

function publish(events: readonly TillEvent[] | 'missed'): void {
  for (const listener of [...listeners]) listener(events);
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
