import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import Fastify from 'fastify';
import { OpenRequests } from '../load/open-requests.ts';
import { type CsvColumn, csvLine } from './csv.ts';
import { CsvExports, type CsvSource, csvLimits } from './csv-exports.ts';

const columns: readonly CsvColumn[] = [{ name: 'id', path: ['id'] }];

/** A list, newest first, that gets another row each time that it is read. */
function growingList(size: number) {
  const rows = Array.from({ length: size }, (_, index) => ({ id: size - index }));
  const read: CsvSource['read'] = async ({ cursor, upTo, limit, skip = 0 }) => {
    const selected = rows.filter(({ id }) => id < Number(cursor ?? Infinity) && id >= Number(upTo ?? 0));
    const data = selected.slice(skip, skip + limit);
    const hasMore = selected.length > skip + limit;
    rows.unshift({ id: rows.length + 1 });
    return {
      data,
      total: rows.length,
      totalCapped: false,
      nextCursor: hasMore ? String(data.at(-1)?.id) : null,
    };
  };
  return read;
}

/** An application with only what an export uses of the service around it. */
function serve(
  exports: CsvExports,
  read: CsvSource['read'],
  openRequests: Pick<OpenRequests, 'leave' | 'giveWay'> = new OpenRequests(),
) {
  const app = Fastify();
  app.decorate('openRequests', openRequests as OpenRequests);
  app.decorate('logRequest', () => {});
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request) => {
    Object.assign(request, { caller: { name: 'tests', isValid: () => true } });
  });
  app.get<{ Querystring: { readonly cursor?: string } }>('/', (request, reply) =>
    exports.send(request, reply, { name: 'rows', columns, cursor: request.query.cursor, read }),
  );
  return app;
}

test('the next file continues where a file ended, even if rows are created meanwhile', async () => {
  const exports = new CsvExports({ ...csvLimits, fileRows: 5, pageRows: 2 });
  const app = serve(exports, growingList(12));
  let exported = '';
  for (let next: unknown = ''; typeof next === 'string'; ) {
    const { headers, body } = await app.inject(`/${next === '' ? '' : `?cursor=${next}`}`);
    exported += body.replace('id\r\n', '');
    next = headers['x-next-cursor'];
  }
  const expected = Array.from({ length: 12 }, (_, index) => csvLine(columns, { id: 12 - index }));
  assert.equal(exported, expected.join(''));
  exports.close();
  await app.close();
});

test('an export gives way for half of its time, and then takes what it needs to end', async (t) => {
  let nowMs = 1_000_000;
  t.mock.method(performance, 'now', () => nowMs);
  let yielded = 0;
  const exports = new CsvExports({ ...csvLimits, pageRows: 10 });
  const app = serve(exports, growingList(100), {
    leave: () => {},
    giveWay: (work) => {
      yielded += 1;
      nowMs += csvLimits.timeMsMax / 6;
      return work();
    },
  });
  const { body } = await app.inject('/');
  assert.equal(body.split('\r\n').length, 102);
  assert.equal(yielded, 3);
  exports.close();
  await app.close();
});

test('the documentation names the rows of a file', async () => {
  const rows = `up to ${new Intl.NumberFormat('en').format(csvLimits.fileRows)} rows`;
  for (const page of ['using-the-api', 'leaving', 'console']) {
    const text = await readFile(new URL(`../../../docs/${page}.md`, import.meta.url), 'utf8');
    assert.ok(text.replaceAll(/\s+/g, ' ').includes(rows), page);
  }
});
