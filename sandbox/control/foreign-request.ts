import { isIP } from 'node:net';
import type { ControlResponse } from '../wire/server.ts';

/** What a request says about its origin. */
interface Provenance {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly contentType: string | undefined;
  readonly body: string;
}

/**
 * Refuses requests that a web page in a developer's browser could send. A page can send a form or text to any address.
 * It can also make its own host name resolve to this machine (DNS rebinding). Then the browser sees one origin, and
 * only the Host header reveals the page. Returns undefined for an allowed request.
 */
export function refuseForeign(
  { host, origin, contentType, body }: Provenance,
  allowedHosts: ReadonlySet<string>,
): ControlResponse | undefined {
  const name = nameIn(host);
  if (name === undefined || (isIP(name) === 0 && !allowedHosts.has(name)))
    return refusal(
      403,
      `The host of the request must be an IP address or localhost. To allow the name ${JSON.stringify(name ?? host ?? '')}, add it to SANDBOX_ALLOWED_HOSTS.`,
    );
  const own = [`http://${host}`, `https://${host}`];
  if (origin !== undefined && !own.includes(origin))
    return refusal(403, 'Web pages of another origin must not use the controls of the sandbox.');
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if ((body !== '' || type !== undefined) && type !== 'application/json')
    return refusal(415, 'The body must be JSON, with the header "content-type: application/json".');
  return undefined;
}

/** The form in which host names are compared. */
export function normalName(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

/** The host without its port. Undefined if it is malformed. */
function nameIn(host: string | undefined): string | undefined {
  const [, address, name] = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::\d{1,5})?$/i.exec(host ?? '') ?? [];
  return address ?? (name === undefined ? undefined : normalName(name));
}

function refusal(status: number, error: string): ControlResponse {
  return { status, body: { error } };
}
