const header = 'x-till-position';
const apiPath = '/api/v1/';
/** A history and a place in it. Its width is fixed, so that the greater text of one history is the later position. */
const positionPattern = /^([0-9a-f]+-)[0-9a-f]+$/;

/**
 * The newest position that Till has sent. With it a list may be read from a replica of the database, once the replica has
 * what this client has seen. Without it Till reads the primary, so it is forgotten whenever a write may have had no position.
 */
export class NewestPosition {
  #position: string | undefined;

  /** The headers of a request. Only reads use a position. */
  headersFor({ method, path }: { readonly method: string; readonly path: string }): Record<string, string> {
    if (method !== 'GET' || this.#position === undefined || !path.startsWith(apiPath)) return {};
    return { [header]: this.#position };
  }

  /** Undefined: there was no response. A write may have happened nevertheless. */
  note(
    { method, path }: { readonly method: string; readonly path: string },
    response: { readonly status: number; readonly headers: Headers } | undefined,
  ): void {
    if (!path.startsWith(apiPath)) return;
    const position = response?.headers.get(header) ?? undefined;
    const isRead = method === 'GET';
    if (position !== undefined) this.#position = laterOf(this.#position, position);
    else if (!isRead || response?.status === 200) this.#position = undefined;
  }
}

/** Responses may arrive in another order. After a failover of the database, positions of a new history replace the old. */
function laterOf(known: string | undefined, position: string): string {
  const [, history] = positionPattern.exec(position) ?? [];
  const isKnownLater = known !== undefined && history !== undefined && known.startsWith(history);
  return isKnownLater && known > position ? known : position;
}
