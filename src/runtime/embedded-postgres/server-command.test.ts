import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverEnvironment } from './server-command.ts';

test('the server gets a locale and the folder of its libraries, which those of macOS find themselves', () => {
  const { PATH: _path, ...onLinux } = serverEnvironment('linux');
  const { PATH: _other, ...onMac } = serverEnvironment('darwin');
  assert.deepEqual(onLinux, { LC_ALL: 'C', LD_LIBRARY_PATH: 'lib' });
  assert.deepEqual(onMac, { LC_ALL: 'C' });
});
