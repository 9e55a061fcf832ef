import { EmbeddedPostgresError } from './start-error.ts';

/** How to run the server as a user that PostgreSQL accepts. */
export interface ServerUser {
  /** Precedes each command line. It must end in `exec`, so that the started process is the server itself. */
  readonly prefix: readonly string[];
  /** The user who must own the data on disk; otherwise the server refuses to start. */
  readonly uid: number;
  readonly gid: number;
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The user `nobody`, by number: its name differs between distributions, its number does not. */
const nobody: Owner = { uid: 65_534, gid: 65_534 };

/**
 * The ways to run the server that are worth trying, best first.
 *
 * A normal user runs it directly. Only `initdb` requires that the user id has a name, which it often lacks in
 * containers. In a user namespace the same user appears as `nobody`, and nothing changes on disk.
 *
 * PostgreSQL refuses to run as root. The best way then is `setpriv`: another user who keeps the one capability that
 * lets root into closed folders, because binaries and data may be below a home directory that is closed to others.
 * (That exposes nothing: only this service has the server's password.) If data exists already, its owner is that user,
 * so a person who once used `sudo` by mistake can continue without it. Where a sandbox allows no other user, the last
 * way is a user namespace in which root's own id has another number. It can open only root's own folders.
 *
 * macOS has neither `setpriv` nor namespaces: see `refuseRoot`.
 */
export function serverUserCandidates(
  serviceUser: Owner & { readonly isNamed: boolean },
  dataOwner: Owner | undefined,
  platform: string,
): ServerUser[] {
  const direct: ServerUser = { prefix: [], uid: serviceUser.uid, gid: serviceUser.gid };
  if (platform === 'darwin') return [direct];
  const inNamespace: ServerUser = {
    prefix: ['unshare', '--user', `--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`, '--'],
    uid: serviceUser.uid,
    gid: serviceUser.gid,
  };
  if (serviceUser.uid !== 0) return serviceUser.isNamed ? [direct] : [inNamespace, direct];

  const { uid, gid } = dataOwner && dataOwner.uid !== 0 ? dataOwner : nobody;
  const ids = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  const capabilities = ['--inh-caps=-all,+dac_override', '--ambient-caps=-all,+dac_override'];
  // Without this bit, access(2) ignores the capability, and the binaries conclude that they cannot be read.
  const securebits = '--securebits=+no_setuid_fixup';
  return [{ prefix: ['setpriv', ...ids, securebits, ...capabilities, '--'], uid, gid }, inNamespace];
}

/** Called before anything is written, so that no folder that root owns blocks the next start. */
export function refuseRoot(uid: number | undefined, platform: string): void {
  if (platform !== 'darwin' || uid !== 0) return;
  throw new EmbeddedPostgresError(
    'The embedded PostgreSQL does not run as root on macOS: start the service as another user, ' +
      'or set DATABASE_URL to a PostgreSQL server.',
  );
}
