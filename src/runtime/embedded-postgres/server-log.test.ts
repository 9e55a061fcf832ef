import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { createLogger } from '#core/platform/logger.ts';
import { forwardServerLog, parseServerLine } from './server-log.ts';

test('routine lines of the server are logged as debug, crashes as warnings, a panic as an error', () => {
  const cases = [
    ['LOG:  shutting down', 'debug', 'shutting down'],
    ['LOG:  server process (PID 7) was terminated by signal 9: Killed', 'warn'],
    ['LOG:  database system was not properly shut down; automatic recovery in progress', 'warn'],
    ['WARNING:  there is trouble', 'warn', 'there is trouble'],
    ['FATAL:  the database system is starting up', 'warn'],
    ['PANIC:  could not write to file', 'error', 'could not write to file'],
    [
      'postgres: error while loading shared libraries',
      'warn',
      'postgres: error while loading shared libraries',
    ],
  ] as const;
  for (const [line, level, message] of cases) {
    const parsed = parseServerLine(line);
    assert.equal(parsed.level, level, line);
    if (message !== undefined) assert.equal(parsed.message, message);
  }
});

test('the error of a failed start quotes the last lines, and long lines are cut', async () => {
  const output = new PassThrough();
  let readyCount = 0;
  const log = forwardServerLog(output, createLogger('silent'), () => {
    readyCount += 1;
  });
  for (let n = 1; n <= 10; n += 1) output.write(`LOG:  line ${n}\n`);
  output.write(`FATAL:  ${'x'.repeat(2_000)}\n`);
  output.end('LOG:  database system is ready to accept connections\n');
  await new Promise((resolve) => output.once('close', resolve));

  const lines = log.lastLines().split(' | ');
  assert.deepEqual(lines.slice(0, 4), ['LOG:  line 7', 'LOG:  line 8', 'LOG:  line 9', 'LOG:  line 10']);
  assert.equal(lines[4]?.length, 1_000);
  assert.equal(readyCount, 1);
});
