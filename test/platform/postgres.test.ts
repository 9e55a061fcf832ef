import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { Failure } from '#core/errors.ts';
import { Database, isOutage, isSerializationFailure, type Transaction } from '#core/platform/postgres.ts';
import { codeOf } from '#core/platform/unavailable.ts';
import { freePort } from '../support/free-port.ts';
import { captureLog } from '../support/log-capture.ts';
import { lineToDatabase } from '../support/tcp-line.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const { logger } = captureLog();
let server: TestDatabase;
let database: Database;

before(async () => {
  server = await createTestDatabase();
  database = new Database({ url: server.url, poolSize: 2, logger });
  await database.query('create table numbers (n int primary key)');
});

after(async () => {
  await database.close();
  await server.drop();
});

test('every statement is under the limits, and is not compiled', async () => {
  const settings = ['statement_timeout', 'idle_in_transaction_session_timeout', 'jit'];
  const text = `select ${settings.map((name) => `current_setting('${name}')`).join(` || ' ' || `)} as all`;
  assert.deepEqual(await database.query(text), [{ all: '10s 10s off' }]);
});

test('a transaction that fails leaves nothing behind and gives its connection back', async () => {
  for (let i = 0; i < 5; i += 1) {
    const failed = database.transaction(async (tx) => {
      await tx.query('insert into numbers values (1)');
      throw new Error('on second thought');
    });
    await assert.rejects(failed, /on second thought/);
  }
  assert.deepEqual(await database.query('select * from numbers'), []);
  await database.transaction((tx) => tx.query('insert into numbers values ($1)', [2]));
  assert.deepEqual(await database.query('select * from numbers'), [{ n: 2 }]);
});

test('statements of a transaction are carried out in order, whether or not they are awaited', async () => {
  await database.query('truncate numbers');
  const seen = await database.transaction(async (tx) => {
    tx.send('insert into numbers values ($1)', [1]);
    const first = tx.query<{ n: number }>('select n from numbers');
    tx.send('update numbers set n = n + $1', [1], 'add_to_numbers');
    const second = tx.query<{ n: number }>('select n from numbers');
    tx.send('update numbers set n = n + $1', [1], 'add_to_numbers');
    return [await first, await second];
  });
  assert.deepEqual(seen, [[{ n: 1 }], [{ n: 2 }]]);
  assert.deepEqual(await database.query('select n from numbers'), [{ n: 3 }]);
});

test('a failed statement that is not awaited fails its transaction, and says why, whatever follows it', async () => {
  await database.query('truncate numbers');
  const sendsTwice = async (tx: Transaction) => {
    tx.send('insert into numbers values (1)');
    tx.send('insert into numbers values (1)');
  };
  for (const behind of [
    async () => {},
    async (tx: Transaction) => void (await tx.query('select 1')),
    async (tx: Transaction) => tx.send('insert into numbers values (2)'),
  ]) {
    const failed = database.transaction(async (tx) => {
      await sendsTwice(tx);
      await behind(tx);
    });
    await assert.rejects(failed, /duplicate key/);
    assert.deepEqual(await database.query('select n from numbers'), []);
  }
});

test('what runs before the commit sees each written row once, is part of the transaction, and can fail it', async (t) => {
  await database.query('truncate numbers');
  const seen: (readonly unknown[])[] = [];
  database.setBeforeCommit({
    write: async (tx) => {
      const rows = await tx.written.stored();
      seen.push(rows.map(({ table, row, before }) => [table, row, before]));
      tx.send('insert into numbers values (2)');
      if (rows.length > 1) throw new Error('not like this');
    },
  });
  t.after(() => database.setBeforeCommit({ write: async () => {} }));
  await database.transaction((tx) => tx.query('insert into numbers values (1)'));
  assert.deepEqual(seen, [], 'no row was reported');
  await database.transaction(async (tx) => {
    const [first, second, third] = [0, 1, 2].map((n) => ({ id: 'a', n }));
    assert.ok(first && second && third);
    tx.written.addChanged('numbers', [second], [first], Promise.resolve([second]));
    tx.written.addChanged('numbers', [third], [second]);
  });
  assert.deepEqual(seen, [[['numbers', { id: 'a', n: 2 }, { id: 'a', n: 0 }]]]);
  const failed = database.transaction(async (tx) => {
    await tx.query('insert into numbers values (3)');
    tx.written.addNew('numbers', [{ id: 'a' }, { id: 'b' }]);
  });
  await assert.rejects(failed, /duplicate key|not like this/);
  assert.deepEqual(await database.query('select n from numbers order by n'), [{ n: 1 }, { n: 2 }]);
});

test('a begin that fails is followed by nothing that takes effect', async (t) => {
  const garbleBegin = (chunk: Buffer) => {
    const at = chunk.indexOf('begin\0');
    if (at >= 0) chunk.write('wrong\0', at);
  };
  const { line, url } = await lineToDatabase(server.url, { onSent: () => garbleBegin });
  t.after(() => line.close());
  const misled = new Database({ url, poolSize: 1, logger });
  t.after(() => misled.close());
  await database.query('truncate numbers');
  for (const startsWithRead of [true, false]) {
    const failed = misled.transaction(
      async (tx) => {
        await tx.query('select n from numbers');
        await tx.query('insert into numbers values (1)');
      },
      { startsWithRead },
    );
    await assert.rejects(failed, /syntax error at or near "wrong"/);
  }
  assert.deepEqual(await database.query('select n from numbers'), []);
});

/** Statements that no caller of the API can cause, by what PostgreSQL says about them. */
const mistakes: Readonly<Record<string, readonly [text: string, values?: readonly unknown[]]>> = {
  '08P01': ['select 1', ['a value that the text does not name']],
  '22P02': ['select $1::uuid', ['no id']],
  '42601': ['select select'],
  '42703': ['select nothing from numbers'],
  '42804': [`select n from numbers union select 'text'::text`],
  '42883': [`select n + 'text'::text from numbers`],
  '42P01': ['select from nowhere'],
  '42P18': ['select $2::integer', [1, 2]],
};

for (const [code, [text, values]] of Object.entries(mistakes))
  test(`a mistake in a statement is a defect, not an outage: ${code}`, async () => {
    const isDefect = (error: Error) => !(error instanceof Failure) && codeOf(error) === code;
    await assert.rejects(database.query(text, values), isDefect);
    await assert.rejects(
      database.transaction((tx) => tx.query(text, values)),
      isDefect,
    );
    assert.deepEqual(await database.query('select 1 as one'), [{ one: 1 }]);
  });

test('a connection that is cut in the middle is an outage, and the next request works again', async () => {
  const cut = database.transaction(async (tx) => {
    await tx.query('select pg_terminate_backend(pg_backend_pid())');
  });
  await assert.rejects(cut, isOutage);
  await assert.rejects(database.query('select pg_terminate_backend(pg_backend_pid())'), isOutage);
  assert.deepEqual(await database.query('select 1 as one'), [{ one: 1 }]);
});

test('a connection that breaks between two statements fails the transaction, never the process', async () => {
  const broken = database.transaction(async (tx) => {
    const [own] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
    // Returns once the other connection has ended.
    await database.query('select pg_terminate_backend($1, 10000)', [own?.pid]);
    await tx.query('select 1');
  });
  await assert.rejects(broken, isOutage);
  assert.deepEqual(await database.query('select 1 as one'), [{ one: 1 }]);
});

test('a statement that takes too long can be retried, and is not an outage', async () => {
  const slow = database.transaction(async (tx) => {
    await tx.query(`set local statement_timeout = '20ms'`);
    await tx.query('select pg_sleep(10)');
  });
  const failure = await slow.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof Failure && failure.code === 'database_unavailable');
  assert.equal(isOutage(failure), false);
});

/** What PostgreSQL says when it ends a session that held a transaction open for too long. */
const sessionLimits = [
  { setting: 'idle_in_transaction_session_timeout', code: '25P03' },
  { setting: 'transaction_timeout', code: '25P04' },
] as const;

for (const { setting, code } of sessionLimits) {
  const goingOn: readonly ((tx: Transaction) => Promise<unknown>)[] = [
    async () => {},
    (tx) => tx.query('insert into numbers values (1)'),
    async (tx) => tx.send('insert into numbers values (1)'),
    async (tx) => {
      tx.send('insert into numbers values (1)');
      await tx.query('select 1');
    },
  ];

  test(`${code}: a transaction that outlives ${setting} in a frozen process can be retried, whatever it does next`, async (t) => {
    // On a socket file that the server has closed, a write fails at once. Over TCP, the last message of the server is
    // still read.
    const { line, url } = await lineToDatabase(server.url);
    t.after(() => line.close());
    const distant = new Database({ url, poolSize: 2, logger });
    t.after(() => distant.close());
    await database.query('truncate numbers');
    for (const reached of [database, distant]) {
      for (const goOn of goingOn) {
        const failure = await failureOf(
          reached.transaction(async (tx) => {
            await tx.query(`set local ${setting} = '50ms'`);
            freeze(300);
            await goOn(tx);
          }),
        );
        assert.ok(failure instanceof Failure && failure.code === 'database_unavailable', String(failure));
        assert.equal(failure.extras.retryAfterSeconds, 1);
        if (reached === distant) {
          assert.equal((failure.cause as { readonly code?: string }).code, code);
          assert.equal(isOutage(failure), false, 'nothing is wrong with any other session');
        }
        assert.deepEqual(await reached.query('select n from numbers'), []);
      }
    }
  });

  test(`${code}: a transaction whose session PostgreSQL has ended while no process was frozen can be retried`, async () => {
    const failure = await failureOf(
      database.transaction(async (tx) => {
        await tx.query(`set local ${setting} = '50ms'`);
        const [own] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
        // The other connection sees the session end; then this connection has been told as well.
        const isThere = 'select from pg_stat_activity where pid = $1';
        await until(async () => (await database.query(isThere, [own?.pid])).length === 0);
        await tx.query('select 1');
      }),
    );
    assert.ok(failure instanceof Failure && failure.code === 'database_unavailable', String(failure));
    assert.deepEqual(await database.query('select 1 as one'), [{ one: 1 }]);
  });
}

test('25P04: a statement that runs when the transaction has taken too long can be retried', async () => {
  const failure = await failureOf(
    database.transaction(async (tx) => {
      await tx.query(`set local transaction_timeout = '50ms'`);
      await tx.query('select pg_sleep(10)');
    }),
  );
  assert.ok(failure instanceof Failure && failure.code === 'database_unavailable', String(failure));
});

test('a server that is not there is an outage', async () => {
  const nowhere = new Database({
    url: `postgres://x:y@127.0.0.1:${await freePort()}/x`,
    poolSize: 1,
    logger,
  });
  await assert.rejects(nowhere.query('select 1'), isOutage);
  await assert.rejects(
    nowhere.transaction((tx) => tx.query('select 1')),
    isOutage,
  );
  await assert.rejects(nowhere.ping());
  await nowhere.close();
});

test('with a hundred requests waiting for a connection, the next is refused at once', async (t) => {
  const small = new Database({ url: server.url, poolSize: 1, logger });
  t.after(() => small.close());
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const holding = small.transaction(() => released);
  const waiting = Array.from({ length: 100 }, () => small.query('select 1 as one'));
  await assert.rejects(small.query('select 1'), isOutage);
  await assert.rejects(
    small.transaction((tx) => tx.query('select 1')),
    isOutage,
  );
  release();
  await holding;
  assert.equal((await Promise.all(waiting)).length, 100);
  assert.deepEqual(await small.query('select 1 as one'), [{ one: 1 }]);
});

test('checks that fail because every connection is busy break none of them', async (t) => {
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  t.after(() => release());
  const small = new Database({ url: server.url, poolSize: 2, logger });
  t.after(() => small.close());
  const holding = database.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock(1)');
    lock();
    await released;
  });
  await locked;
  const waiting = [1, 2].map(() => small.query('select pg_advisory_xact_lock_shared(1)'));
  for (let checks = 0; checks < 2; checks += 1) await assert.rejects(small.ping());
  release();
  await Promise.all([holding, ...waiting]);
  await small.ping();
});

test('a read-only server is an outage for writes, and not ready', async () => {
  const standby = new Database({
    url: `${server.url}&options=${encodeURIComponent('-c default_transaction_read_only=on')}`,
    poolSize: 1,
    logger,
  });
  await assert.rejects(standby.query('insert into numbers values (3)'), isOutage);
  await assert.rejects(
    standby.transaction((tx) => tx.query('insert into numbers values (3)')),
    isOutage,
  );
  await assert.rejects(standby.ping());
  await standby.reach();
  assert.deepEqual(await standby.query('select 1 as one'), [{ one: 1 }], 'what is read is read');
  await standby.close();
});

test('of two transactions in a deadlock one can be retried, and it is not an outage', async () => {
  await database.query('insert into numbers values (10), (11)');
  const bothLocked = barrier(2);
  const lockBoth = (first: number, second: number) =>
    database.transaction(async (tx) => {
      await tx.query('select from numbers where n = $1 for update', [first]);
      await bothLocked();
      await tx.query('select from numbers where n = $1 for update', [second]);
    });
  const outcomes = await Promise.allSettled([lockBoth(10, 11), lockBoth(11, 10)]);
  const failures = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason);
  assert.equal(failures.length, 1);
  assert.ok(failures[0] instanceof Failure && failures[0].code === 'database_unavailable');
  assert.equal(isOutage(failures[0]), false);
});

test('a repeatable read that meets a newer row fails as what it is', async () => {
  await database.query('insert into numbers values (20)');
  const late = database.transaction(async (tx) => {
    await tx.query('set transaction isolation level repeatable read');
    await tx.query('select from numbers');
    await database.query('update numbers set n = 21 where n = 20');
    await tx.query('select from numbers where n = 20 for update skip locked');
  });
  await assert.rejects(late, (error) => isSerializationFailure(error) && !isOutage(error));
});

test('a connection that is ended the moment it is ready fails its transaction, never the process', async (t) => {
  // All in one piece, so that the end is there before anyone has been given the connection.
  const welcomeAndEnd = Buffer.concat([
    message('R', Buffer.from([0, 0, 0, 0])),
    message('Z', Buffer.from('I')),
    message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0')),
  ]);
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(welcomeAndEnd));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const ending = new Database({ url: `postgres://x:y@127.0.0.1:${port}/x`, poolSize: 1, logger });
  t.after(() => ending.close());
  await assert.rejects(
    ending.transaction((tx) => tx.query('select 1')),
    isOutage,
  );
  await assert.rejects(ending.query('select 1'), isOutage);
  await assert.rejects(ending.ping());
});

/** Stops the whole process, as a machine does that is short of memory or is being moved. */
function freeze(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}

function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => assert.fail('it succeeded'),
    (error: unknown) => error,
  );
}

/** A message of PostgreSQL's protocol. */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(length.length + body.length);
  return Buffer.concat([Buffer.from(type), length, body]);
}

/** Each caller waits until all have arrived. */
function barrier(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  return () => {
    left -= 1;
    if (left === 0) resolve();
    return promise;
  };
}
