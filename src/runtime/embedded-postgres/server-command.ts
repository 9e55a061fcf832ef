import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import type { Binaries } from './binaries.ts';
import { type Owner, type ServerUser, serverUserCandidates } from './server-user.ts';
import { EmbeddedPostgresError } from './start-error.ts';

/** How to run PostgreSQL's programs on this machine: as which user, and with which libraries. */
export interface ServerCommand {
  readonly user: ServerUser;
  readonly majorVersion: string;
  /** The program and its arguments, run as the server's user. */
  line(program: string, args: readonly string[]): [string, string[]];
  readonly options: { readonly cwd: string; readonly env: Record<string, string> };
}

/** The folder of library links. The path is relative to the working folder, because `:` and `$` are special in it. */
export const libraryDirName = 'lib';

/** A probe takes about 20 ms; a disk that has to spin up takes seconds. */
const probeTimeoutMs = 20_000;

/**
 * Tries the ways to run the server, and returns the first that works. A first start tries `initdb --show`, which
 * changes nothing and checks everything that the real one needs: the user and its name, the server, the libraries.
 * Later starts need only the server, which accepts users without a name.
 */
export async function findServerCommand(
  binaries: Binaries,
  home: string,
  dataPath: string,
): Promise<ServerCommand> {
  const options = { cwd: home, env: serverEnvironment() };
  const failures: string[] = [];
  const dataOwner = await ownerOf(dataPath);
  for (const user of serverUserCandidates(currentUser(), dataOwner, process.platform)) {
    const line: ServerCommand['line'] = (program, args) => {
      const [first = program, ...rest] = [...user.prefix, program, ...args];
      return [first, rest];
    };
    const probe = dataOwner
      ? line(binaries.postgres, ['--version'])
      : line(binaries.initdb, ['--show', '-D', dataPath]);
    const { isOk, output } = await run(probe, options, probeTimeoutMs);
    const majorVersion = /^(?:VERSION=|postgres \(PostgreSQL\) )(\d+)/m.exec(output)?.[1];
    if (isOk && majorVersion !== undefined) return { user, majorVersion, line, options };
    failures.push(output);
  }
  throw new EmbeddedPostgresError(
    'The embedded PostgreSQL cannot be run here; set DATABASE_URL to a PostgreSQL server' +
      `${process.getuid?.() === 0 ? ', or start the service as another user than root' : ''} ` +
      `(${failures.join(' | ')}).`,
  );
}

/** Nothing else is passed on: the caller's PGOPTIONS or locale must not change what the server does. */
export function serverEnvironment(platform: string = process.platform): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin:/usr/sbin:/sbin',
    // On macOS a server without a locale refuses to start, because looking up the locale starts threads.
    LC_ALL: 'C',
    // The binaries for macOS find their libraries themselves.
    ...(platform === 'darwin' ? {} : { LD_LIBRARY_PATH: libraryDirName }),
  };
}

/** How much of a failed command's output an error quotes. The reason is in the last lines. */
const quotedOutputLengthMax = 600;

/** Runs a command to its end. A failure is a result like any other; the end of its output says why. */
export function run(
  [program, args]: [string, string[]],
  options: ServerCommand['options'],
  timeoutMs: number,
): Promise<{ isOk: boolean; output: string }> {
  const { promise, resolve } = Promise.withResolvers<{ isOk: boolean; output: string }>();
  execFile(program, args, { ...options, timeout: timeoutMs, killSignal: 'SIGKILL' }, (error, out, errors) => {
    if (error === null) return resolve({ isOk: true, output: out + errors });
    const lastOutput = errors.trim().split('\n').join(' | ').slice(-quotedOutputLengthMax);
    resolve({ isOk: false, output: lastOutput === '' ? error.message : lastOutput });
  });
  return promise;
}

function currentUser(): Owner & { isNamed: boolean } {
  // Both exist on every system that has an embedded PostgreSQL.
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  try {
    userInfo();
    return { ...owner, isNamed: true };
  } catch {
    return { ...owner, isNamed: false };
  }
}

async function ownerOf(path: string): Promise<Owner | undefined> {
  const { uid, gid } = (await stat(path).catch(() => undefined)) ?? {};
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}
