// Plain JavaScript, because bin.mjs also needs it under a Node that cannot read TypeScript.
import { readFileSync } from 'node:fs';

/**
 * Short enough that people do not notice, and long enough to cost nothing: the check asks the kernel for two numbers.
 */
const pollMs = 500;
/** A script that contains one of these starts a process that is meant to outlive npm. */
const detaches = /(?<!&)&(?!&)|\b(?:nohup|setsid|disown|daemonize|start-stop-daemon)\b/;

/**
 * Calls `onEnd` once when npm, or the shell in which npm runs a command, has ended and this process has not. npm passes
 * a signal on to its shell only, and the shell ends without passing it on, so nothing else would end this process.
 *
 * Nothing is watched unless npm or its shell is the parent, and is meant to wait for this process: a parent that
 * started it in the background may end.
 *
 * @param {() => void} onEnd
 * @returns {void}
 */
export function whenNpmEnds(onEnd) {
  const parentArguments = argumentsOf(process.ppid);
  if (!isRunByNpm(process.env, parentArguments)) return;
  // The process that started npm may end: "nohup npm start" in a terminal that is then closed.
  const ancestorsNow = isNpm(parentArguments) ? () => `${process.ppid}` : shellAndNpmNow;
  const ancestors = ancestorsNow();
  const timer = setInterval(() => {
    // The kernel gives an orphan another parent. If npm is killed, its shell is the orphan.
    if (ancestorsNow() === ancestors) return;
    clearInterval(timer);
    onEnd();
  }, pollMs);
  timer.unref();
}

/**
 * Whether npm, or its shell, is the parent and waits for this process.
 *
 * @param {Readonly<Record<string, string | undefined>>} environment
 * @param {readonly string[]} parentArguments
 * @returns {boolean}
 */
export function isRunByNpm(environment, [command, option, line]) {
  const script = environment['npm_lifecycle_script'];
  if (script === undefined || command === undefined) return false;
  if (detaches.test(line ?? '') || detaches.test(script)) return false;
  return isNpm([command]) || (option === '-c' && line?.startsWith(script) === true);
}

/**
 * If the shell has replaced itself by this process, npm is the parent. npm shows a title of its own.
 *
 * @param {readonly string[]} parentArguments
 */
function isNpm([command]) {
  return /^np[mx]\b/.test(command ?? '');
}

/** The parent, which is the shell, and the parent of the shell. */
function shellAndNpmNow() {
  const parent = process.ppid;
  // The name of the program, in parentheses, may contain anything. After it come the state and the parent.
  const stat = readProc(parent, 'stat');
  return `${parent} ${stat.slice(stat.lastIndexOf(')')).split(' ')[2]}`;
}

/**
 * @param {number} pid
 * @returns {readonly string[]}
 */
function argumentsOf(pid) {
  const line = readProc(pid, 'cmdline');
  return line === '' ? [] : line.split('\0');
}

/**
 * Empty without /proc, and for a process that has ended.
 *
 * @param {number} pid
 * @param {string} name
 */
function readProc(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
