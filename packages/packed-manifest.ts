import { posix } from 'node:path';

export interface Manifest {
  readonly version?: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly imports?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly types?: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Folders, relative to the manifest: the source in the workspace, and what is compiled from it in the package. */
export interface Places {
  readonly source: string;
  readonly outDir: string;
}

/** What only a checkout needs. */
const ofCheckout = ['private', 'workspaces', 'scripts', 'devDependencies', 'allowScripts'];

/** The manifest of a package: that of its workspace, with the addresses of the compiled files. */
export function packedManifest(manifest: Manifest, places: Places): Manifest {
  const kept = Object.entries(manifest).filter(([field]) => !ofCheckout.includes(field));
  const { bin, imports, exports, types } = manifest;
  const compiled = (path: string) => packedPath(path, places, '.js');
  return {
    ...Object.fromEntries(kept),
    ...(bin && { bin: mapValues(bin, compiled) }),
    ...(imports && { imports: mapValues(imports, compiled) }),
    ...(exports && { exports: mapValues(exports, (target) => packedExport(target, places)) }),
    ...(types && { types: packedPath(types, places, '.d.ts') }),
  };
}

function packedExport(target: string | Readonly<Record<string, string>>, places: Places) {
  if (typeof target !== 'string') return mapValues(target, (path) => packedPath(path, places, '.js'));
  if (!target.endsWith('.ts')) return packedPath(target, places, '.js');
  return { types: packedPath(target, places, '.d.ts'), default: packedPath(target, places, '.js') };
}

/** Where a file of the workspace is in the package. */
function packedPath(path: string, { source, outDir }: Places, extension: '.js' | '.d.ts'): string {
  if (path === './package.json') return path;
  const file = posix.join(outDir, posix.relative(source, path)).replace(/\.ts$/, extension);
  return path.startsWith('./') ? `./${file}` : file;
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, change: (value: From) => To) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
