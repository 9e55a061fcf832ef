import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { projectFolder } from '../../support/till-in-child.ts';
import { prepareBase, runStep } from './base-image.ts';
import { readIgnoreRules } from './docker-ignore.ts';
import { argumentsOf, type Instruction, pairsOf, parseDockerfile } from './dockerfile.ts';

/** The last stage of a Dockerfile: a root folder, and how to run what is in it. */
export interface Image {
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly workDir: string;
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
  readonly stopSignal: string;
}

interface Stage extends Image {
  readonly name: string | undefined;
}

/** Carries out the steps of the Dockerfile, each stage in a folder below `folder`. */
export function buildImage(folder: string): Image {
  const stages: Stage[] = [];
  for (const instruction of parseDockerfile(readFileSync(join(projectFolder, 'Dockerfile'), 'utf8'))) {
    if (instruction.name === 'FROM') {
      stages.push(beginStage(join(folder, String(stages.length)), instruction.text));
      continue;
    }
    const stage = stages.pop();
    if (stage === undefined) throw new Error(`${instruction.name} before FROM`);
    stages.push({ ...stage, ...carryOut(instruction, stage, stages) });
  }
  const last = stages.at(-1);
  if (last === undefined) throw new Error('the Dockerfile has no stage');
  return last;
}

function beginStage(root: string, from: string): Stage {
  const [, base, name] = /^(\S+)(?: AS (\S+))?$/i.exec(from) ?? [];
  mkdirSync(root, { recursive: true });
  if (base?.startsWith('node:')) prepareBase(root);
  else if (base !== 'scratch') throw new Error(`nothing stands in for the base image ${base}`);
  return {
    ...{ root, name, workDir: '/', user: '0:0', stopSignal: 'SIGTERM' },
    ...{ environment: {}, entrypoint: [], command: [], healthCheck: [] },
  };
}

/** Returns what the instruction changes. Fails for an unknown instruction, so that a test notices it. */
function carryOut(
  { name, flags, text }: Instruction,
  stage: Stage,
  earlier: readonly Stage[],
): Partial<Stage> {
  switch (name) {
    case 'WORKDIR':
      mkdirSync(join(stage.root, text), { recursive: true });
      return { workDir: text };
    case 'COPY':
      copy(argumentsOf(text), stage, originOf(flags.get('from'), earlier));
      return {};
    case 'RUN':
      runStep({ root: stage.root, workDir: stage.workDir, command: text, cacheDir: cacheDirOf(flags) });
      return {};
    case 'ENV':
      return { environment: { ...stage.environment, ...pairsOf(text) } };
    case 'USER':
      return { user: text };
    case 'STOPSIGNAL':
      return { stopSignal: text };
    case 'ENTRYPOINT':
      return { entrypoint: argumentsOf(text) };
    case 'CMD':
      return { command: argumentsOf(text) };
    case 'HEALTHCHECK':
      return { healthCheck: argumentsOf(text.replace(/^CMD\s+/, '')) };
    case 'LABEL':
    case 'EXPOSE':
      return {};
    default:
      throw new Error(`the tests do not know the instruction ${name}`);
  }
}

interface Origin {
  readonly root: string;
  isIgnored(path: string): boolean;
}

function originOf(from: string | undefined, earlier: readonly Stage[]): Origin {
  if (from === undefined) {
    const isIgnored = readIgnoreRules(readFileSync(join(projectFolder, '.dockerignore'), 'utf8'));
    return { root: projectFolder, isIgnored: (path) => isIgnored(relative(projectFolder, path)) };
  }
  const stage = earlier.find(({ name }) => name === from);
  if (stage === undefined) throw new Error(`COPY from a stage that does not exist: ${from}`);
  return { root: stage.root, isIgnored: () => false };
}

/** Copies files, and the content of folders. */
function copy(paths: readonly string[], stage: Stage, origin: Origin): void {
  const target = posix.resolve(stage.workDir, paths.at(-1) ?? '.');
  const isIntoFolder = /(^|\/)\.?\/?$/.test(paths.at(-1) ?? '') || paths.length > 2;
  for (const path of paths.slice(0, -1)) {
    const source = join(origin.root, path);
    if (origin.isIgnored(source)) throw new Error(`.dockerignore keeps out ${path}, which is copied`);
    const isFolder = statSync(source).isDirectory();
    const to = join(stage.root, target, isIntoFolder && !isFolder ? posix.basename(path) : '');
    mkdirSync(isFolder ? to : join(to, '..'), { recursive: true });
    if (origin.root === projectFolder)
      cpSync(source, to, { recursive: true, filter: (each) => !origin.isIgnored(each) });
    else execFileSync('cp', ['-a', '--reflink=auto', isFolder ? `${source}/.` : source, to]);
  }
}

/** The folder of `--mount=type=cache,target=FOLDER`. */
function cacheDirOf(flags: ReadonlyMap<string, string>): string | undefined {
  const mount = flags.get('mount');
  if (mount === undefined) return undefined;
  const target = /^type=cache,target=(\/\S*npm\S*)$/.exec(mount)?.[1];
  if (target === undefined) throw new Error(`the tests do not know the mount ${mount}`);
  return target;
}
