import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { cpuMsOf, cpuMsOfTree, residentMbOf } from './cpu.ts';

test("the CPU time of children that have ended counts for their parent's tree, and not for the parent alone", () => {
  const beforeMs = { own: cpuMsOf([process.pid]), tree: cpuMsOfTree(process.pid) };
  const burn = 'const end = process.cpuUsage().user + 100_000; while (process.cpuUsage().user < end);';
  assert.equal(spawnSync(process.execPath, ['-e', burn]).status, 0);
  const ownMs = cpuMsOf([process.pid]) - beforeMs.own;
  const treeMs = cpuMsOfTree(process.pid) - beforeMs.tree;
  assert.ok(treeMs - ownMs >= 90, `${treeMs} ms with the child, ${ownMs} ms without`);
});

test('a process that has ended has spent nothing more, and a tree without its root is a mistake', () => {
  const { pid } = spawnSync(process.execPath, ['--version']);
  assert.equal(cpuMsOf([pid]), 0);
  assert.throws(() => cpuMsOfTree(pid), /has ended/);
});

test('the memory of a process is shown in megabytes', () => {
  const mb = residentMbOf(process.pid);
  assert.ok(mb > 10 && mb < 4_096, `${mb} MB`);
});
