import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Failure } from '../errors.ts';
import { type Cause, currentCause, runWithCause } from './cause.ts';
import { SharedReads, SharedStatement } from './shared-statement.ts';
import { currentSpan, runInSpan, type Span } from './tracing.ts';

/** A table whose statements end when the test ends them. */
function slowTable(rows: readonly string[]) {
  const statements: { readonly ids: readonly string[]; readonly end: (error?: Error) => void }[] = [];
  let started = Promise.withResolvers<void>();
  const reads = new SharedReads<{ id: string }>((ids) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ id: string }[]>();
    const found = rows.filter((row) => ids.includes(row)).map((id) => ({ id }));
    statements.push({ ids, end: (error) => (error === undefined ? resolve(found) : reject(error)) });
    started.resolve();
    started = Promise.withResolvers();
    return promise;
  });
  return { reads, statements, nextStatement: () => started.promise };
}

test('concurrent reads share a statement, and each gets its own row or none', async () => {
  const { reads, statements, nextStatement } = slowTable(['a', 'b']);
  const pending = [reads.read('a'), reads.read('b'), reads.read('a'), reads.read('missing')];
  await nextStatement();
  assert.deepEqual(statements[0]?.ids, ['a', 'b', 'a', 'missing']);
  statements[0]?.end();
  assert.deepEqual(await Promise.all(pending), [{ id: 'a' }, { id: 'b' }, { id: 'a' }, undefined]);
});

test('a read never shares a statement that started before the read', async () => {
  const { reads, statements, nextStatement } = slowTable(['a']);
  const first = reads.read('a');
  await nextStatement();
  const second = reads.read('a');
  await nextStatement();
  assert.equal(statements.length, 2);
  statements[1]?.end();
  assert.deepEqual(await second, { id: 'a' });
  statements[0]?.end();
  assert.deepEqual(await first, { id: 'a' });
});

test('while two statements run, all other reads wait for the third', async () => {
  const { reads, statements, nextStatement } = slowTable([]);
  const pending: Promise<unknown>[] = [];
  for (const id of ['a', 'b']) {
    pending.push(reads.read(id));
    await nextStatement();
  }
  for (const id of ['c', 'd', 'e']) pending.push(reads.read(id));
  statements[0]?.end();
  await nextStatement();
  assert.deepEqual(statements[2]?.ids, ['c', 'd', 'e']);
  statements[1]?.end();
  statements[2]?.end();
  await Promise.all(pending);
});

test('a failed statement fails its own reads, and the next reads succeed', async () => {
  const { reads, statements, nextStatement } = slowTable(['b']);
  const failing = reads.read('a');
  await nextStatement();
  statements[0]?.end(new Error('gone'));
  await assert.rejects(failing, /gone/);
  const next = reads.read('b');
  await nextStatement();
  statements[1]?.end();
  assert.deepEqual(await next, { id: 'b' });
});

test('when the queue is full, a read is refused at once', async () => {
  const { reads, statements, nextStatement } = slowTable([]);
  const pending = Array.from({ length: 5_000 }, (_, id) => reads.read(String(id)));
  await assert.rejects(
    reads.read('one more'),
    (error) => error instanceof Failure && error.code === 'overloaded',
  );
  for (let ended = 0; ended < 25; ended += 1) {
    while (statements.length <= ended) await nextStatement();
    statements[ended]?.end();
  }
  await Promise.all(pending);
  assert.ok(statements.every(({ ids }) => ids.length <= 200));
});

test('work that no caller waits for is gathered before its statement starts', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const statements: (readonly string[])[] = [];
  const gathering = new SharedStatement<string, string>({
    run: async (items) => {
      statements.push(items);
      return items;
    },
    gatherMs: 20,
  });
  const first = gathering.add('a');
  t.mock.timers.tick(19);
  const second = gathering.add('b');
  assert.deepEqual(statements, []);
  t.mock.timers.tick(1);
  assert.deepEqual(await Promise.all([first, second]), ['a', 'b']);
  assert.deepEqual(statements, [['a', 'b']]);
});

test('a shared statement has no cause, and each of its callers keeps its own', async () => {
  const seen: (Cause | undefined)[] = [];
  const statement = new SharedStatement<string, string>({
    run: async (items) => {
      seen.push(currentCause());
      return items;
    },
  });
  const callers = ['first', 'second'].map((requestId) =>
    runWithCause(
      { kind: 'api', keyName: 'shop', person: null, requestId, processorEventId: null },
      async () => {
        await statement.add(requestId);
        return currentCause()?.requestId;
      },
    ),
  );
  assert.deepEqual(await Promise.all(callers), ['first', 'second']);
  assert.deepEqual(seen, [undefined]);
});

/** A span that remembers what it refers to. */
function spanNamed(traceparent: string, started: TestSpan[]): TestSpan {
  const links: string[] = [];
  const start = (name: string) => {
    const span = spanNamed(`${traceparent}/${name}`, started);
    started.push(span);
    return span;
  };
  return {
    traceparent,
    links,
    hasEnded: false,
    set: () => {},
    link: (other) => void links.push(other),
    start,
    startTrace: (name, others) => {
      const span = spanNamed(name, started);
      span.links.push(...others.map((other) => other.traceparent));
      started.push(span);
      return span;
    },
    end: () => {},
  };
}

interface TestSpan extends Span {
  readonly links: string[];
}

test('a statement belongs to the trace of its caller; with several callers, they refer to each other', async () => {
  const started: TestSpan[] = [];
  const firstRun = Promise.withResolvers<void>();
  const ranIn: (string | undefined)[] = [];
  const statement = new SharedStatement<string, string>({
    run: async (items) => {
      ranIn.push(currentSpan()?.traceparent);
      if (items.includes('a')) await firstRun.promise;
      return items;
    },
  });
  const add = (item: string) => runInSpan(spanNamed(item, started), () => statement.add(item));
  const first = add('a');
  await setImmediate();
  // They wait while the first statement runs, and share the next one.
  const others = [add('b'), add('c'), statement.add('untraced')];
  firstRun.resolve();
  await Promise.all([first, ...others]);
  assert.deepEqual(ranIn, ['a/shared statement', 'statement of several requests']);
  const shared = started.find(({ traceparent }) => traceparent === 'statement of several requests');
  assert.deepEqual(shared?.links, ['b/shared statement', 'c/shared statement']);
  const waiting = started.filter(({ traceparent }) => /^[bc]/.test(traceparent));
  for (const { links } of waiting) assert.deepEqual(links, ['statement of several requests']);
});
