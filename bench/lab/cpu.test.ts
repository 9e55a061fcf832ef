import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { cpuMsOf, cpuMsOfTree, residentMbOf } from './cpu.ts';

test("the CPU time of ended children counts for their parent's tree, but not for the parent alone", () => {
  const beforeMs = { own: cpuMsOf([process.pid]), tree: cpuMsOfTree(process.pid) };
  const burn = 'const end = process.cpuUsage().user + 100_000; while (process.cpuUsage().user < end);';
  assert.equal(spawnSync(process.execPath, ['-e', burn]).status, 0);
  const ownMs = cpuMsOf([process.pid]) - beforeMs.own;
  const treeMs = cpuMsOfTree(process.pid) - beforeMs.tree;
  assert.ok(treeMs - ownMs >= 90, `${treeMs} ms with the child, ${ownMs} ms without`);
});

test('an ended process uses no more CPU time, and a tree without its root is an error', () => {
  const { pid } = spawnSync(process.execPath, ['--version']);
  assert.equal(cpuMsOf([pid]), 0);
  assert.throws(() => cpuMsOfTree(pid), /has ended/);
});

test('the memory of a process is in megabytes', () => {
  const mb = residentMbOf(process.pid);
  assert.ok(mb > 10 && mb < 4_096, `${mb} MB`);
});
