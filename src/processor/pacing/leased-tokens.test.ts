import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentedLimits } from './documented-limits.ts';
import { LeasedTokens } from './leased-tokens.ts';
import { Limits } from './limits.ts';

const customers = 'POST /v1/customers';

function setUp({ processes = 1 } = {}) {
  const asked: (readonly string[])[] = [];
  const notes: string[] = [];
  let respond = async (): Promise<unknown> => ['110', 40, 4, 7];
  const tokens = new LeasedTokens({
    limits: new Limits({ documented: documentedLimits(false), perSecond: 25 }),
    runScript: (_script, keys, values) => {
      asked.push([...keys, ...values]);
      return respond();
    },
    ...{ account: 'acct', process: 'me', processes },
    onOutage: () => notes.push('outage'),
    onReturn: () => notes.push('return'),
  });
  const setResponse = (next: typeof respond) => {
    respond = next;
  };
  return { tokens, asked, notes, setResponse };
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a lease asks for all calls at once, and names the limits', async () => {
  const { tokens, asked } = setUp();
  const leased = await tokens.take([customers, 'GET /v1/prices/search', customers], 9, 0);
  assert.deepEqual(leased, { granted: [true, true, false], waitMs: 40 });
  assert.deepEqual(tokens.others, { processes: 4, waiting: 7 });
  const bucket = (perSecond: number) => [String(perSecond), String(2 + perSecond * 0.04)];
  assert.deepEqual(asked, [
    [
      ...['till:pace:{acct}:buckets', 'till:pace:{acct}:processes', 'me', '9', '1', '3'],
      ...['', ...bucket(24 / 1.08), customers, ...bucket(24 / 1.08)],
      ...['GET /v1/prices/search', ...bucket(19 / 1.08), '1', '2', '1'],
    ],
  ]);
});

test('when Redis fails, the process counts alone with its share, and with the others once Redis is back', async () => {
  const { tokens, asked, notes, setResponse } = setUp();
  await tokens.take([customers], 1, 0);
  setResponse(() => Promise.reject(new Error('gone')));
  const first = await tokens.take([customers], 1, 100);
  assert.deepEqual(first.granted, [false], 'the lost response may have granted a token');
  assert.ok(first.waitMs > 100 && first.waitMs < 200, `${first.waitMs} ms: a quarter of the limit`);
  assert.deepEqual(tokens.others, { processes: 1, waiting: 0 });
  const second = tokens.take([customers], 1, 300);
  assert.ok(!(second instanceof Promise), 'no call waits for a Redis that is down');
  assert.deepEqual(second.granted, [true]);
  assert.equal(asked.length, 2);
  setResponse(async () => ['', -1, 1, 0]);
  assert.ok(!(tokens.take([customers], 1, 1_100) instanceof Promise));
  await settle();
  assert.equal(asked.length, 3);
  assert.deepEqual(asked.at(-1)?.slice(2, 6), ['me', '0', '1', '1']);
  assert.ok(tokens.take([customers], 1, 1_200) instanceof Promise);
  assert.deepEqual(notes, ['outage', 'return']);
});

test('a process that has not met the others yet counts with the share of the configured ones', async () => {
  const { tokens, setResponse } = setUp({ processes: 5 });
  setResponse(async () => 'not a response');
  const { waitMs } = await tokens.take([customers], 1, 0);
  assert.equal(Math.round(waitMs), Math.round((1_000 / 5) * 1.08));
});

test('a process that asks before its turn, for calls that came since, keeps its turn', async () => {
  const { tokens, asked } = setUp();
  await tokens.take([customers], 9, 0);
  const early = await tokens.take([customers], 9, 30);
  assert.equal(early.waitMs, 10);
  await tokens.take([customers], 9, 40);
  assert.deepEqual(
    asked.map((values) => values[4]),
    ['1', '0', '1'],
  );
});
