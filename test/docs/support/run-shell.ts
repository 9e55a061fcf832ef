import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ExamplePlace } from './example-place.ts';
import { type Claim, matches, type ShellExample, textPattern } from './page-examples.ts';

/** Between the blocks of a page, on both outputs. */
const border = '=== end of block ===';

/**
 * Runs the commands of a page in one bash, block by block, as a reader pastes them, and compares what they print with
 * what the page claims. curl reports the status of every response: an error that the page does not show fails.
 */
export async function runShell(examples: readonly ShellExample[], place: ExamplePlace): Promise<void> {
  // A line end after each response, so that two responses are two lines; the status goes to the other output.
  await writeFile(
    join(place.folder, '.curlrc'),
    'no-progress-meter\nwrite-out = "%{stdout}\\n%{stderr}HTTP %{http_code}\\n"\n',
  );
  const mark = `printf '\\n%s\\n' '${border}'`;
  const end = `${mark}; ${mark} >&2\n`;
  const script = examples.map(({ code }) => `${place.adapt(code)}${end}`).join('');
  const child = spawn('bash', ['-euo', 'pipefail'], {
    cwd: place.folder,
    env: { ...place.environment, HOME: place.folder },
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own, so that what the page left running can be ended.
    detached: true,
  });
  child.stdin.end(script);
  const endGroup = () => killGroup(child.pid);
  const timer = setTimeout(endGroup, place.timeoutMs);
  const [[code], output, errors] = await Promise.all([
    once(child, 'exit').finally(endGroup),
    text(child.stdout),
    text(child.stderr),
  ]);
  clearTimeout(timer);
  const printed = output.split(`\n${border}\n`);
  const reported = errors.split(`\n${border}\n`);
  const reached = examples[Math.min(printed.length - 1, examples.length - 1)];
  assert.equal(code, 0, `the block at line ${reached?.line} failed:\n${printed.at(-1)}\n${reported.at(-1)}`);
  for (const [index, example] of examples.entries())
    checkBlock(example, place, printed[index] ?? '', reported[index] ?? '');
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended already.
  }
}

function checkBlock(
  { line, claims }: ShellExample,
  place: ExamplePlace,
  output: string,
  report: string,
): void {
  for (const claim of claims) checkClaim({ ...claim, content: place.adapt(claim.content) }, output);
  const mayFail = claims.some(({ content }) => /"status": ?[45]\d\d/.test(content));
  const statuses = [...report.matchAll(/^HTTP (\d{3})$/gm)].map(([, status]) => Number(status));
  const failed = statuses.filter((status) => status >= 400 || status === 0);
  if (!mayFail)
    assert.deepEqual(failed, [], `the block at line ${line} has failed requests:\n${output}\n${report}`);
}

function checkClaim({ kind, content, line }: Claim, output: string): void {
  if (kind === 'text') {
    const lines = output.split('\n').filter((each) => each.trim() !== '');
    const claimed = content.split('\n').filter((each) => each.trim() !== '');
    const isSame =
      claimed.length === lines.length && claimed.every((each, n) => textPattern(each).test(lines[n] ?? ''));
    assert.ok(isSame, `the text at line ${line} is not what was printed:\n${output}`);
    return;
  }
  const responses = readJson(output);
  assert.ok(
    matches(responses.at(-1), JSON.parse(content)),
    `the JSON at line ${line} is not what was printed:\n${output}`,
  );
}

/** The JSON that was printed: one value on many lines, or one on each line that is JSON. */
function readJson(output: string): readonly unknown[] {
  try {
    return [JSON.parse(output)];
  } catch {
    return output.split('\n').flatMap((line) => {
      try {
        return [JSON.parse(line)];
      } catch {
        return [];
      }
    });
  }
}
