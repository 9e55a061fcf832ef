import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { defineCommand } from './command.ts';
import { commands } from './commands.ts';
import { findCommand, parseArguments } from './parse.ts';

const noop = async () => {};
const sample = [
  defineCommand({
    name: 'fruit',
    summary: 'list fruit',
    options: {
      colour: { type: 'string', value: 'COLOUR', choices: ['red', 'green'], about: 'only of this colour' },
      limit: { type: 'string', value: 'N', default: '10', about: 'how many' },
      ripe: { type: 'boolean', about: 'only ripe ones' },
    },
    run: noop,
  }),
  defineCommand({
    name: 'fruit eat',
    summary: 'eat one',
    positionals: [{ name: 'ID', about: 'which one' }],
    run: noop,
  }),
  defineCommand({
    name: 'tree plant',
    summary: 'plant a tree',
    options: { place: { type: 'string', value: 'PLACE', isRequired: true, about: 'where' } },
    run: noop,
  }),
];

function parse(line: string) {
  return parseAll(line.split(' ').filter(Boolean));
}

function parseAll(args: readonly string[]) {
  const { kind, ...request } = findCommand(args, sample);
  if (!('command' in request)) return { kind, ...request };
  const { command } = request;
  if (!('args' in request)) return { kind, command: command.name };
  return { kind, command: command.name, ...parseArguments(command, request.args) };
}

describe('a command line', () => {
  test('is the longest command that it names, with its values, defaults and positionals', () => {
    const run = { kind: 'run', isJson: false, positionals: [] };
    const values = { limit: '10', ripe: false };
    assert.deepEqual(parse('fruit'), { ...run, command: 'fruit', values });
    assert.deepEqual(parse('fruit --json --colour=red --ripe --limit 3'), {
      ...run,
      isJson: true,
      command: 'fruit',
      values: { colour: 'red', limit: '3', ripe: true },
    });
    assert.deepEqual(parse('fruit eat a1 --json'), {
      ...run,
      isJson: true,
      command: 'fruit eat',
      values: {},
      positionals: ['a1'],
    });
    assert.deepEqual(parse('fruit eat -- --a1'), {
      ...run,
      command: 'fruit eat',
      values: {},
      positionals: ['--a1'],
    });
  });

  test('asks for help in any place', () => {
    assert.deepEqual(parse(''), { kind: 'list', group: '' });
    assert.deepEqual(parse('-h'), { kind: 'list', group: '' });
    assert.deepEqual(parse('tree --help'), { kind: 'list', group: 'tree' });
    assert.deepEqual(parse('help'), { kind: 'list', group: '' });
    for (const line of ['fruit eat --help', 'help fruit eat', 'fruit eat a b c --help'])
      assert.deepEqual(parse(line), { kind: 'help', command: 'fruit eat' }, line);
    assert.deepEqual(parse('--version'), { kind: 'version' });
  });

  test('that is invalid is explained', () => {
    for (const [line, message] of [
      ['friut', 'Unknown command "friut".'],
      ['tree', 'A command comes first.'],
      ['tree plnt', 'Unknown command "tree plnt".'],
      ['--json', 'A command comes first.'],
      ['--color fruit', 'A command comes first.'],
      ['fruit eta', 'Unexpected argument "eta".'],
      ['fruit --color red', /^Unknown option '--color'/],
      ['fruit -x', /^Unknown option '-x'/],
      ['fruit --colour', "Option '--colour <value>' argument missing"],
      ['fruit --colour --ripe', /^Option '--colour' argument is ambiguous/],
      ['fruit --colour=', '--colour needs a value: --colour COLOUR.'],
      ['fruit --colour blue', '--colour must be one of red, green, not "blue".'],
      ['fruit --ripe=yes', "Option '--ripe' does not take an argument"],
      ['fruit --ripe --ripe', '--ripe is given twice.'],
      ['fruit eat', '"till fruit eat" needs ID.'],
      ['fruit eat a1 b2', 'Unexpected argument "b2".'],
      ['tree plant', '--place needs a value: --place PLACE.'],
    ] as const)
      assert.throws(() => parse(line), { name: 'UsageError', message }, line);
  });

  test('names an argument that is empty, such as a variable that is not set, as missing', () => {
    assert.throws(() => parseAll(['fruit', 'eat', '']), {
      message: '"till fruit eat" needs ID.',
    });
  });
});

test('every command has a name of its own, one line of summary, and texts for all its options', () => {
  assert.equal(new Set(commands.map(({ name }) => name)).size, commands.length);
  for (const { name, summary, options, positionals } of commands) {
    assert.match(name, /^[a-z][a-z-]*( [a-z][a-z-]*)?$/);
    for (const text of [summary, ...[...Object.values(options), ...positionals].map(({ about }) => about)])
      assert.match(text, /^[^\n]+[^.\n]$/, `${name}: ${text}`);
  }
});
