import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commands } from './commands.ts';
import { helpOf, helpOfCommands, usageOf } from './help.ts';

const lineWidthMax = 120;

test('the help of every command begins with its usage and names each option', () => {
  for (const command of commands) {
    const help = helpOf(command);
    assert.ok(help.startsWith(usageOf(command)), command.name);
    for (const name of [...Object.keys(command.options), 'json', 'help'])
      assert.ok(help.includes(`  --${name}`), `${command.name} --${name}`);
    assert.ok(help.endsWith('\n') && !help.endsWith('\n\n'), command.name);
    for (const line of help.split('\n').slice(1)) assert.ok(line.length <= lineWidthMax, line);
  }
});

test('the list of commands names each of them, and that of a group only its own', () => {
  const list = helpOfCommands(commands);
  for (const { name, summary } of commands)
    assert.ok(list.includes(`  ${name} `) && list.includes(summary), name);
  const keys = helpOfCommands(commands, 'keys');
  assert.match(keys, /^Usage: till keys COMMAND\n\n {2}keys create /);
  assert.doesNotMatch(keys, /resync/);
});

test('required options come first in a usage, optional ones are in brackets', () => {
  const [create] = commands.filter(({ name }) => name === 'keys create');
  assert.ok(create !== undefined);
  assert.match(
    usageOf(create),
    /^Usage: till keys create --name NAME --scopes SCOPE,SCOPE \[--expires-at TIME\]\n/,
  );
});
