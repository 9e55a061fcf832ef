import type { TillEvent } from './types.ts';

/** Three heartbeats of the server. A connection can break without the browser noticing, for hours. */
const silenceMsMax = 45_000;

/** The events of a stream, as many at a time as one chunk completes. Throws if the server sends nothing for too long. */
export async function* readEventStream(response: Response): AsyncGenerator<readonly TillEvent[]> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    while (true) {
      const { value, done } = await orSilence(reader.read());
      if (done) return;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop() ?? '';
      const events = blocks.flatMap(eventOf);
      if (events.length > 0) yield events;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function orSilence<T>(chunk: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('the stream is silent')), silenceMsMax);
  try {
    return await Promise.race([chunk, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** A block without data is a heartbeat. */
function eventOf(block: string): readonly TillEvent[] {
  const data = block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trimStart())
    .join('\n');
  return data === '' ? [] : [JSON.parse(data)];
}
