import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { defineCommand } from './command.ts';
import { commands } from './commands.ts';
import { CommandLineError, parseCommandLine } from './parse.ts';

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
  const request = parseCommandLine(line.split(' ').filter(Boolean), sample);
  return 'command' in request ? { ...request, command: request.command.name } : request;
}

describe('a command line', () => {
  test('is the longest command that it names, with its values, defaults and positionals', () => {
    const run = { kind: 'run', isJson: false, positionals: [] };
    const values = { colour: undefined, limit: '10', ripe: false };
    assert.deepEqual(parse('fruit'), { ...run, command: 'fruit', values });
    assert.deepEqual(parse('--json fruit --colour=red --ripe --limit 3'), {
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
    for (const line of ['fruit eat --help', '-h fruit eat', 'help fruit eat', 'fruit eat a b c --help'])
      assert.deepEqual(parse(line), { kind: 'help', command: 'fruit eat' }, line);
    assert.deepEqual(parse('--version'), { kind: 'version' });
  });

  test('that is invalid is explained, with the usage of its command', () => {
    for (const [line, message, subject] of [
      ['friut', 'Unknown command "friut". Did you mean "till fruit"?', ''],
      ['vegetable', 'Unknown command "vegetable". Use one of the commands below.', ''],
      ['fruit eta x', 'Unknown command "fruit eta". Did you mean "till fruit eat"?', 'fruit'],
      ['tree', '"till tree" needs a command.', 'tree'],
      ['tree plnt', 'Unknown command "tree plnt". Did you mean "till tree plant"?', 'tree'],
      ['--json', '"till" needs a command.', ''],
      ['--color fruit', 'Unknown option --color. A command comes first.', ''],
      ['fruit --color red', 'Unknown option --color. Did you mean --colour?', 'fruit'],
      ['fruit -x', 'Unknown option -x.', 'fruit'],
      ['fruit --colour', '--colour needs a value: --colour COLOUR.', 'fruit'],
      ['fruit --colour --ripe', '--colour needs a value: --colour COLOUR.', 'fruit'],
      ['fruit --colour=', '--colour needs a value: --colour COLOUR.', 'fruit'],
      ['fruit --colour blue', '--colour must be one of red, green, not "blue".', 'fruit'],
      ['fruit --ripe=yes', '--ripe takes no value.', 'fruit'],
      ['fruit --ripe --ripe', '--ripe is given twice.', 'fruit'],
      ['fruit eat', '"till fruit eat" needs ID.', 'fruit eat'],
      ['fruit eat a1 b2', 'Unexpected argument "b2".', 'fruit eat'],
      ['tree plant', '--place is missing: --place PLACE.', 'tree plant'],
    ] as const)
      assert.throws(
        () => parse(line),
        (error) => {
          assert.ok(error instanceof CommandLineError, line);
          const shown = typeof error.subject === 'string' ? error.subject : error.subject.name;
          assert.deepEqual([error.message, shown], [message, subject], line);
          return true;
        },
      );
  });

  test('names an argument that is empty, such as a variable that is not set, as missing', () => {
    assert.throws(() => parseCommandLine(['fruit', 'eat', ''], sample), {
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
