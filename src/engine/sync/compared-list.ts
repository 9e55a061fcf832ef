import type { Mirror } from '../mirrors/mirror.ts';
import type { MirroredList } from '../mirrors/mirrored-list.ts';

/** A list of the processor, as a resync compares it with the rows. */
export interface ComparedList<Context> {
  /** The lists of the objects on which these depend. They come first. */
  readonly after?: readonly string[];
  readonly open: (context: Context) => MirroredList<unknown>;
  /** About how many objects the processor will list, of all customers or of one. */
  readonly count: (context: Context, customerId?: string) => Promise<number>;
  /** Whether the processor lists the objects of one customer. */
  readonly isOfCustomer?: true;
  /** Whether `unlisted` needs the keys that the list has shown. They are kept in memory. */
  readonly remembersListed?: true;
  /** Objects that the list does not show, and that are refreshed after it. */
  readonly unlisted?: (context: Context, scope: ResyncScope) => AsyncIterable<UnlistedObjects>;
}

export interface ResyncScope {
  /** Undefined: all customers. */
  readonly customerId?: string | undefined;
  /** The keys that the list has shown. Empty without `remembersListed`. */
  readonly listed: ReadonlySet<string>;
}

export interface UnlistedObjects {
  readonly mirror: Mirror<never>;
  readonly keys: readonly string[];
}

/** In an order in which objects come after those on which they depend. */
export function inOrder<List extends { readonly after?: readonly string[] }>(
  lists: Readonly<Record<string, List>>,
): readonly (readonly [name: string, list: List])[] {
  const ordered = new Map<string, List>();
  const add = (name: string): void => {
    const list = lists[name];
    if (list === undefined) throw new Error(`there is no list of ${name}`);
    for (const earlier of list.after ?? []) add(earlier);
    ordered.set(name, list);
  };
  for (const name of Object.keys(lists)) add(name);
  return [...ordered];
}
