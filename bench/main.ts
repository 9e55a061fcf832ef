import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments, usage } from './lab/arguments.ts';
import { Lab } from './lab/lab.ts';
import { describeDisturbance, describeTimes, type ScenarioTime, timeScenario } from './lab/machine.ts';
import { describeProfiles } from './lab/profile.ts';
import { publish } from './lab/publish.ts';
import { type Result, table, toResult } from './lab/report.ts';
import type { Scenario } from './lab/scenario.ts';
import { scenarios } from './scenarios.ts';

const parsed = readArguments(
  process.argv.slice(2),
  scenarios.flatMap(({ names }) => names),
);
if (typeof parsed === 'string') {
  process.stderr.write(`${parsed}\n\n${usage}`);
  process.exit(2);
}
if (parsed.help) {
  process.stdout.write(usage);
  process.exit();
}
const { only, quick, rounds, payments, usageEvents, isComplete } = parsed;
const profileFolder = parsed.profile ? await mkdtemp(join(tmpdir(), 'till-profiles-')) : undefined;

const opening = Lab.open({ quick, rounds, payments, usageEvents, profileFolder });
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // npm passes a signal on, so one for the whole group arrives twice. The second must not end the run before its
  // servers.
  process.on(signal, () => {
    print(`\n${signal}: stopping all processes …`);
    opening.then((opened) => opened[Symbol.asyncDispose]()).finally(() => process.exit(1));
  });
}
await using lab = await opening;

const results: Result[] = [];
const times: ScenarioTime[] = [];
for (const scenario of scenarios) {
  if (only !== undefined && !scenario.names.some((name) => only.includes(name))) continue;
  const { found, time } = await measure(scenario);
  await scenario.end?.();
  results.push(...found);
  times.push(time);
  print(`── ${time.seconds.toFixed(1)} s\n${table(found)}\n`);
}
print(`\n${table(results)}\n\n${describeTimes(times)}`);
if (profileFolder !== undefined) print(`\n${await describeProfiles(profileFolder)}`);
const disturbance = describeDisturbance(times);
if (disturbance !== undefined) print(`\n${isComplete ? 'not published' : 'warning'}: ${disturbance}`);
if (isComplete && disturbance === undefined) await publish(results, quick ? 'quick' : 'full', new Date());
else if (isComplete) process.exitCode = 1;

/** A scenario of a whole run that something else disturbed is measured a second time, so that an hour is not lost. */
async function measure(scenario: Scenario): Promise<{ found: readonly Result[]; time: ScenarioTime }> {
  for (let attempt = 1; ; attempt += 1) {
    const end = timeScenario(scenario.names, lab.cores);
    const found = (await scenario.run(lab)).map(toResult);
    const time = end();
    const disturbance = describeDisturbance([time]);
    if (disturbance === undefined || !isComplete || attempt > 1) return { found, time };
    print(`measured again: ${disturbance}`);
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
