/** The program of hostile clients, with plain sockets. `startHostileClients` starts it. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Crowd, Outcome, Report, Target, ToClients } from './crowd.ts';

/** Often enough that the rate is even. */
const tickMs = 20;
/** Fewer than a server's queue of new connections has room for. */
const openedPerTick = 100;
const statusLine = /^HTTP\/1\.1 (\d{3}) /;

interface Member {
  readonly crowd: Crowd;
  readonly outcome: Outcome;
  readonly number: number;
  socket: Socket | undefined;
  drip: NodeJS.Timeout | undefined;
}

const members: Member[] = [];
const outcomes: Record<string, Outcome> = {};
/** Those that are to send next. */
const free: Member[] = [];
const paced: Member[] = [];
let pace: NodeJS.Timeout | undefined;
let isLeaving = false;

process.on('message', (message: ToClients) => {
  if ('start' in message) start(message.start, message.target);
  if ('leave' in message) void leave().then(report);
  else report();
});

function report(): void {
  const isComplete = members.every(({ socket }) => socket !== undefined);
  process.send?.({ outcomes, isComplete } satisfies Report);
}

function start(crowds: readonly Crowd[], target: Target): void {
  // The kinds take turns.
  for (let number = 0; number < Math.max(...crowds.map(({ count }) => count)); number += 1)
    for (const crowd of crowds) {
      if (number >= crowd.count) continue;
      const outcome = outcomes[crowd.kind] ?? { sent: 0, open: 0, cut: 0, refused: 0, statuses: {} };
      outcomes[crowd.kind] = outcome;
      const member: Member = { crowd, outcome, number, socket: undefined, drip: undefined };
      members.push(member);
      (crowd.asksNothing === true ? free : paced).push(member);
    }
  const startedAtMs = performance.now();
  let sent = 0;
  pace = setInterval(() => {
    for (const member of free.splice(0, openedPerTick)) send(member, target);
    const due = ((performance.now() - startedAtMs) / 1_000) * target.requestsPerSecond;
    for (; sent < due; sent += 1) {
      const member = paced.shift();
      if (member !== undefined) send(member, target);
    }
  }, tickMs);
}

function send(member: Member, target: Target): void {
  const { crowd, outcome, number } = member;
  outcome.sent += 1;
  if (member.socket === undefined || member.socket.destroyed) member.socket = open(member, target);
  const text = crowd.openings[number % crowd.openings.length] ?? '';
  if (text !== '') member.socket.write(text);
}

function open(member: Member, { host, port, from }: Target): Socket {
  const { crowd, outcome, number } = member;
  const localAddress = from[number % from.length] ?? '127.0.0.1';
  const socket = connect({ port, host, localAddress });
  let wasOpen = false;
  socket.on('connect', () => {
    wasOpen = true;
    outcome.open += 1;
    if (crowd.drip === undefined) return;
    const { text, everyMs } = crowd.drip;
    member.drip = setInterval(() => socket.write(text), everyMs);
  });
  if (crowd.readsNothing === true) socket.pause();
  else socket.on('data', (chunk) => read(member, chunk));
  // `close` follows.
  socket.on('error', () => {});
  socket.on('close', () => {
    clearInterval(member.drip);
    if (wasOpen) outcome.open -= 1;
    if (isLeaving) return;
    if (wasOpen) outcome.cut += 1;
    else outcome.refused += 1;
    paced.push(member);
  });
  return socket;
}

function read(member: Member, chunk: Buffer): void {
  const status = statusLine.exec(chunk.toString('latin1', 0, 16))?.[1];
  if (status === undefined) return;
  const { statuses } = member.outcome;
  statuses[status] = (statuses[status] ?? 0) + 1;
  if (member.crowd.repeats === true && member.socket?.destroyed === false) paced.push(member);
}

async function leave(): Promise<void> {
  isLeaving = true;
  clearInterval(pace);
  await Promise.all(
    members.map(async ({ socket }) => {
      if (socket === undefined || socket.closed) return;
      const closed = once(socket, 'close');
      socket.destroy();
      await closed;
    }),
  );
}
