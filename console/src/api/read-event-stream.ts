import type { TillEvent } from './types.ts';

/** The events of a stream, as many at a time as one chunk completes. */
export async function* readEventStream(response: Response): AsyncGenerator<readonly TillEvent[]> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    while (true) {
      const { value, done } = await reader.read();
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

/** A block without data is a heartbeat. */
function eventOf(block: string): readonly TillEvent[] {
  const data = block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trimStart())
    .join('\n');
  return data === '' ? [] : [JSON.parse(data)];
}
