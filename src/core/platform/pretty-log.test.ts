import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from './logger.ts';
import { formatLog } from './pretty-log.ts';

type Choice = Parameters<typeof formatLog>[1];
type Terminal = Parameters<typeof formatLog>[2];
const pretty: Choice = { logFormat: 'pretty', production: true };
const unset: Choice = { logFormat: undefined, production: false };

function logOf(
  work: (logger: ReturnType<typeof createLogger>) => void,
  choice = pretty,
  terminal: Terminal = { environment: {} },
): string {
  let text = '';
  const destination = {
    write: (line: string) => {
      text += line;
    },
  };
  work(createLogger('trace', formatLog(destination, choice, terminal)));
  return text;
}

test('a line is the time, the level, the message and the fields', () => {
  const line = logOf((logger) =>
    logger.info({ url: 'http://127.0.0.1:3000', count: 2, text: 'two words', list: ['a'] }, 'ready'),
  );
  assert.match(
    line,
    /^\d\d:\d\d:\d\d\.\d{3} INFO {2}ready url=http:\/\/127\.0\.0\.1:3000 count=2 text="two words" list=\["a"\]\n$/,
  );
});

test('an error has its stack on lines of its own, with its code and causes', () => {
  const cause = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
  const text = logOf((logger) =>
    logger.error({ err: new TypeError('no response', { cause }) }, 'call failed'),
  );
  const [head, first, second] = text.split('\n');
  assert.match(head ?? '', /ERROR call failed$/);
  assert.equal(first, '    TypeError: no response');
  assert.match(second ?? '', /^ {6}at .+pretty-log\.test\.ts/);
  assert.match(text, /\n {4}caused by Error: connection refused \(ECONNREFUSED\)\n {6}at /);
  assert.ok(text.endsWith('\n'));
});

test('nothing that a terminal could take as a command is written', () => {
  const text = logOf((logger) =>
    logger.warn({ agent: '\u001b[2J\u009b0m', err: new Error('line\r\u001b[31m') }, 'odd\u0007\nrequest'),
  );
  assert.doesNotMatch(text, /(?!\n)\p{Cc}/u);
  assert.match(text, /odd\\u0007\\nrequest agent="\\u001b\[2J\\u009b0m"/);
});

test('without a setting, lines are for people on a terminal outside production; JSON is as it was', () => {
  const log = (choice: Choice, isTTY: boolean) =>
    logOf((logger) => logger.info({ a: 1 }, 'ready'), choice, { isTTY, environment: { NO_COLOR: '1' } });
  const isJson = (text: string) =>
    /^\{"level":"info","time":"[^"]+","service":"till","a":1,"msg":"ready"\}\n$/.test(text);
  assert.equal(isJson(log(unset, true)), false);
  assert.equal(isJson(log(unset, false)), true);
  assert.equal(isJson(log({ ...unset, production: true }, true)), true);
  assert.equal(isJson(log({ ...unset, logFormat: 'json' }, true)), true);
  assert.equal(isJson(log(pretty, false)), false);
});

test('colours need a terminal, and NO_COLOR turns them off', () => {
  const log = (terminal: Terminal) => logOf((logger) => logger.info({ a: 1 }, 'ready'), pretty, terminal);
  const painted = log({ isTTY: true, environment: { NO_COLOR: '' } });
  assert.ok(painted.endsWith('\u001b[32mINFO \u001b[0m ready \u001b[2ma=1\u001b[0m\n'), painted);
  for (const terminal of [
    { isTTY: true, environment: { NO_COLOR: '1' } },
    { isTTY: true, environment: { TERM: 'dumb' } },
    { isTTY: false, environment: {} },
  ])
    assert.ok(!log(terminal).includes('\u001b'));
});
