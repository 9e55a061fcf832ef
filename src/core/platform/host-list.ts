const hostPattern = /^(?:\[([0-9a-f:.%]+)\]|([^:[\]]+))(?::(\d+))?$/i;
const portMax = 65_535;

interface HostAndPort {
  /** An IPv6 address has no brackets here. */
  readonly host: string;
  readonly port: number | undefined;
}

/** Reads hosts that are separated by commas, each with an optional port. Undefined if one of them is malformed. */
export function parseHostList(text: string): readonly HostAndPort[] | undefined {
  const parts = text.split(',');
  const hosts = parts.flatMap((part): readonly HostAndPort[] => {
    const [matched, address, name, port] = hostPattern.exec(part) ?? [];
    const host = address ?? name;
    if (matched === undefined || host === undefined) return [];
    if (port === undefined) return [{ host, port }];
    return Number(port) >= 1 && Number(port) <= portMax ? [{ host, port: Number(port) }] : [];
  });
  return hosts.length === parts.length ? hosts : undefined;
}
