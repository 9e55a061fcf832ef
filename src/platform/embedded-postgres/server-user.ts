/** How a server process is made to run as a user that PostgreSQL accepts. */
export interface ServerUser {
  /** What goes in front of each command line. It must end in `exec`, so that the process we start is the server. */
  readonly prefix: readonly string[];
  /** Whom the data must belong to on the disk, or the server refuses it. */
  readonly uid: number;
  readonly gid: number;
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The user `nobody`, by number: its name differs between distributions, the number does not. */
const nobody: Owner = { uid: 65_534, gid: 65_534 };

/**
 * The ways to run the server that are worth trying, the best first.
 *
 * A normal user runs it directly. Only `initdb` insists that the user id has a name, which in containers it often
 * has not; in a user namespace the same user appears as `nobody`, and nothing changes on the disk.
 *
 * For root, PostgreSQL refuses. Best is `setpriv`: another user, who keeps the one capability that lets root into
 * closed folders, because binaries and data may lie below a home that is closed to others. (That gives nothing
 * away: only this service has the server's password.) If there is data already, its owner is that user, so that
 * somebody who once typed `sudo` by mistake can go on without. Where a sandbox knows no other user, a user
 * namespace is left, in which root's own id has another number; it opens only root's own folders.
 */
export function serverUserCandidates(
  us: Owner & { readonly isNamed: boolean },
  dataOwner: Owner | undefined,
): ServerUser[] {
  const inNamespace: ServerUser = {
    prefix: ['unshare', '--user', `--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`, '--'],
    uid: us.uid,
    gid: us.gid,
  };
  if (us.uid !== 0) {
    const direct: ServerUser = { prefix: [], uid: us.uid, gid: us.gid };
    return us.isNamed ? [direct] : [inNamespace, direct];
  }

  const { uid, gid } = dataOwner && dataOwner.uid !== 0 ? dataOwner : nobody;
  const ids = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  const capabilities = ['--inh-caps=-all,+dac_override', '--ambient-caps=-all,+dac_override'];
  // Without this bit access(2) disregards the capability, and the binaries believe that they cannot be read.
  const securebits = '--securebits=+no_setuid_fixup';
  return [{ prefix: ['setpriv', ...ids, securebits, ...capabilities, '--'], uid, gid }, inNamespace];
}
