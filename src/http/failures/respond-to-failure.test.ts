import assert from 'node:assert/strict';
import { PassThrough, type TransformCallback } from 'node:stream';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createBrokenRequestHandler } from './respond-to-failure.ts';

test('thousands of requests that time out at once are answered a few at a time', async () => {
  let answered = 0;
  const handle = createBrokenRequestHandler();
  for (let n = 0; n < 2_000; n += 1) handle(new TimedOut(), new Answered(() => (answered += 1)));
  assert.equal(answered, 0);
  for (let turns = 1; answered < 2_000; turns += 1) {
    await setImmediate();
    assert.ok(answered > 0 && answered <= 20 * turns, `${answered} after ${turns} turns`);
  }
  handle(new TimedOut(), new Answered(() => (answered += 1)));
  await setImmediate();
  assert.equal(answered, 2_001, 'later ones are answered too');
});

class TimedOut extends Error {
  readonly code = 'ERR_HTTP_REQUEST_TIMEOUT';
}

class Answered extends PassThrough {
  readonly #answer: () => void;

  constructor(answer: () => void) {
    super();
    this.#answer = answer;
  }

  override _transform(text: unknown, _encoding: string, done: TransformCallback): void {
    assert.match(String(text), /^HTTP\/1\.1 408 .*request_timeout/s);
    this.#answer();
    done();
  }
}
