/**
 * Loaded into Till's process before anything else (`--import`): from each SIGUSR2 on, the wall clock is off by the
 * milliseconds in the file CLOCK_FILE. The monotonic clock and timers continue, as they do when a machine's time is
 * set.
 */
import { readFileSync } from 'node:fs';

const RealDate = Date;
let offsetMs = 0;
const now = () => RealDate.now() + offsetMs;

process.on('SIGUSR2', () => {
  offsetMs = Number(readFileSync(process.env['CLOCK_FILE'] ?? '', 'utf8'));
  process.stdout.write(`${JSON.stringify({ level: 'info', msg: `the clock is off by ${offsetMs} ms` })}\n`);
});

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
