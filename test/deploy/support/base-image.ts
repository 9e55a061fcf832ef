import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { mountItself, mountReadOnly, pathOf, quote } from './namespace.ts';

/** Programs, libraries and settings of this machine, which stand in for those of the base image. */
const systemFolders = [
  '/usr/bin',
  '/usr/lib',
  '/usr/lib64',
  '/usr/share',
  '/etc',
  '/var/lib/dpkg',
  '/run',
  '/dev',
];
/** On most systems these are links into /usr. */
const systemLinks = ['/bin', '/lib', '/lib64'];
const npmFolder = '/usr/local/lib/node_modules/npm';
/** A build gets these from the engine. */
const passedOn = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS'];
const buildTimeoutMs = 300_000;

/** Prepares a folder that stands in for Node's official image: this Node, where that image has it, and the system. */
export function prepareBase(root: string): void {
  for (const folder of [...systemFolders, npmFolder, '/usr/local/bin', '/root', '/tmp', '/proc'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const link of systemLinks) {
    if (!existsSync(link)) continue;
    if (lstatSync(link).isSymbolicLink()) symlinkSync(readlinkSync(link), join(root, link));
    else mkdirSync(join(root, link));
  }
  copyFileSync(process.execPath, join(root, '/usr/local/bin/node'));
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, '/usr/local/bin/npm'));
}

export interface Step {
  readonly root: string;
  readonly workDir: string;
  readonly command: string;
  /** The folder at which npm's cache is mounted. */
  readonly cacheDir: string | undefined;
}

/** Carries out a RUN instruction in the folder. The system's own folders are read-only there. */
export function runStep({ root, workDir, command, cacheDir }: Step): void {
  const npm = readNpmSettings();
  const mounts = [
    ...mountItself(root),
    ...systemFolders.filter((path) => existsSync(path)).map((path) => mountReadOnly(path, join(root, path))),
    ...systemLinks
      .filter((path) => existsSync(path) && !lstatSync(path).isSymbolicLink())
      .map((path) => mountReadOnly(path, join(root, path))),
    mountReadOnly(npm.folder, join(root, npmFolder)),
    mountReadOnly('/proc', join(root, '/proc')),
  ];
  if (cacheDir !== undefined) {
    mkdirSync(npm.cache, { recursive: true });
    mkdirSync(join(root, cacheDir), { recursive: true });
    mounts.push(`mount --bind ${quote(npm.cache)} ${quote(join(root, cacheDir))}`);
  }
  const enter = `exec unshare --root=${quote(root)} --wd=${quote(workDir)} -- /bin/sh -c ${quote(command)}`;
  execFileSync('unshare', ['--mount', '--', 'sh', '-euc', [...mounts, enter].join('\n')], {
    env: {
      ...Object.fromEntries(
        passedOn.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
      ),
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: '/root',
      npm_config_registry: npm.registry,
      ...(npm.cafile === 'null' ? {} : { npm_config_cafile: npm.cafile }),
      // The folder that the tests were installed from is good enough.
      npm_config_prefer_offline: 'true',
      npm_config_update_notifier: 'false',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: buildTimeoutMs,
  });
}

interface NpmSettings {
  readonly folder: string;
  readonly registry: string;
  readonly cafile: string;
  readonly cache: string;
}

/** Where this machine's npm is, and where it gets packages. */
function readNpmSettings(): NpmSettings {
  const names = ['registry', 'cafile', 'cache'];
  const said = execFileSync('npm', ['config', 'get', ...names], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [registry = '', cafile = '', cache = ''] = names.map(
    (name) => new RegExp(`^${name}=(.*)$`, 'm').exec(said)?.[1],
  );
  const program = realpathSync(pathOf('npm'));
  return { folder: dirname(dirname(program)), registry, cafile, cache };
}
