const header = 'x-till-position';
const apiPath = '/api/v1/';
/** A history and a place in it. Its width is fixed, so that the greater text of one history is the later position. */
const positionPattern = /^([0-9a-f]+-)[0-9a-f]+$/;

/**
 * The newest position that Till has sent. With it a list may be read from a replica of the database, once the replica
 * has what this client has seen. Without it Till reads the primary, so it is forgotten whenever a write may have had no
 * position.
 */
export class NewestPosition {
  #position: string | undefined;
  #timesForgotten = 0;

  /** A request that is sent now. */
  begin({ method, path }: { readonly method: string; readonly path: string }): PositionedRequest {
    if (!path.startsWith(apiPath)) return { headers: {}, end: () => {} };
    const isRead = method === 'GET';
    const timesForgotten = this.#timesForgotten;
    return {
      headers: isRead && this.#position !== undefined ? { [header]: this.#position } : {},
      end: (response) => {
        const position = response?.headers.get(header) ?? undefined;
        if (position === undefined && (!isRead || response?.status === 200)) this.#forget();
        // If it was forgotten meanwhile, this position may be earlier than the write that had none.
        if (position !== undefined && timesForgotten === this.#timesForgotten)
          this.#position = laterOf(this.#position, position);
      },
    };
  }

  #forget(): void {
    this.#position = undefined;
    this.#timesForgotten += 1;
  }
}

export interface PositionedRequest {
  /** Only reads of the API use a position. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: there was no response. A write may have happened nevertheless. */
  readonly end: (response: { readonly status: number; readonly headers: Headers } | undefined) => void;
}

/**
 * Responses may arrive in another order. After a failover of the database, positions of a new history replace the old.
 */
function laterOf(known: string | undefined, position: string): string {
  const [, history] = positionPattern.exec(position) ?? [];
  const isKnownLater = known !== undefined && history !== undefined && known.startsWith(history);
  return isKnownLater && known > position ? known : position;
}
