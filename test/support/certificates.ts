import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificates {
  /** The certificate of the authority, to be trusted or not. */
  readonly authorityPath: string;
  readonly keyPath: string;
  readonly certificatePath: string;
  readonly key: Buffer;
  readonly certificate: Buffer;
  remove(): void;
}

/** An authority of its own and its certificate for one server name; valid for a day. */
export function makeCertificates(serverName: string): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'till-certificates-'));
  const path = (name: string) => join(folder, name);
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    ...['req', '-x509', ...newKey, '-days', '1', '-subj', '/CN=Test authority'],
    ...['-keyout', path('ca.key'), '-out', path('ca.crt')],
  );
  openssl(
    ...['req', ...newKey, '-subj', `/CN=${serverName}`],
    ...['-keyout', path('server.key'), '-out', path('server.csr')],
  );
  writeFileSync(path('names'), `subjectAltName=DNS:${serverName}\n`);
  openssl(
    ...['x509', '-req', '-in', path('server.csr'), '-CA', path('ca.crt'), '-CAkey', path('ca.key')],
    ...['-CAcreateserial', '-days', '1', '-extfile', path('names'), '-out', path('server.crt')],
  );
  return {
    authorityPath: path('ca.crt'),
    keyPath: path('server.key'),
    certificatePath: path('server.crt'),
    key: readFileSync(path('server.key')),
    certificate: readFileSync(path('server.crt')),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
