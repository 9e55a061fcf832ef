import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { isServerCommand, readCommand } from './stale-server.ts';

const skip = spawnSync('ps').error === undefined ? false : 'needs ps: apt-get install procps';

test('where there is no /proc, a server is recognised by its program and its data', () => {
  const dataPath = '/Users/ada/My Code/.till/postgres/cluster/data';
  const server = `/Users/ada/My Code/node_modules/native/bin/postgres -D ${dataPath}`;
  for (const command of [server, `${server} -c cluster_name=till`]) {
    assert.ok(isServerCommand(command, dataPath), command);
  }
  const others = [
    '',
    '(postgres)',
    'postgres: till: checkpointer ',
    `tail -D ${dataPath}`,
    `${server}-2 -c port=1`,
  ];
  for (const command of others) assert.ok(!isServerCommand(command, dataPath), command);
});

test('ps shows the whole command of a process, and nothing of one that has ended', { skip }, async () => {
  assert.ok((await readCommand(process.pid)).startsWith(process.argv0));
  const { pid } = spawnSync('true');
  assert.equal(await readCommand(pid), '');
});
