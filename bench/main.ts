import { parseArgs } from 'node:util';
import { Lab } from './lab/lab.ts';
import { publish } from './lab/publish.ts';
import { judge, type Result, table } from './lab/report.ts';
import type { Scenario } from './lab/scenario.ts';
import { scenarios } from './scenarios.ts';

/** Three are enough to leave one bad one out. */
const rounds = 3;

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string' },
  },
});
const chosen = choose(values.only?.split(','));

const opening = Lab.open({ quick: values.quick, rounds: Number(values.rounds ?? rounds) });
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    say(`\n${signal}: ending what was started …`);
    opening.then((opened) => opened[Symbol.asyncDispose]()).finally(() => process.exit(1));
  });
}
await using lab = await opening;

const results: Result[] = [];
for (const scenario of chosen) {
  const startedAtMs = performance.now();
  const found = (await scenario.run(lab)).map(judge);
  results.push(...found);
  say(`── ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s\n${table(found)}\n`);
}
say(`\n${table(results)}`);
// Only a run of everything, the way it is meant to be run, is worth keeping.
if (values.only === undefined && values.rounds === undefined)
  await publish(results, values.quick ? 'quick' : 'full', new Date());

function choose(names: readonly string[] | undefined): readonly Scenario[] {
  if (names === undefined) return scenarios;
  const known = scenarios.flatMap((scenario) => scenario.names);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`There is no ${unknown.join(', ')}; there are ${known.join(', ')}.`);
  return scenarios.filter((scenario) => scenario.names.some((name) => names.includes(name)));
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
