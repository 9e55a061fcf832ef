export type Priority = 'interactive' | 'background';

export interface QueuedCall extends Queued {
  readonly priority: Priority;
}

/** While both wait, one of this many calls is one of the background work, so that it always makes progress. */
const backgroundEvery = 10;

/** Calls that wait: those of requests before those of background work, except for a small share. */
export class CallQueue<Call extends QueuedCall> {
  readonly #interactive = new FairQueue<Call>();
  readonly #background = new FairQueue<Call>();
  /** Interactive calls that began while background work waited, since the last call of background work. */
  #since = 0;

  get size(): number {
    return this.#interactive.size + this.#background.size;
  }

  push(call: Call): void {
    this.#of(call).push(call);
  }

  /** Puts a call back that was taken, as the next one of its priority. */
  putBack(call: Call): void {
    this.#of(call).putBack(call);
    if (call.priority === 'background') this.#since = backgroundEvery - 1;
    else this.#since = Math.max(0, this.#since - 1);
  }

  remove(call: Call): void {
    this.#of(call).remove(call);
  }

  take(mayBegin: MayBegin): Call | undefined {
    const isTurnOfBackground = this.#since >= backgroundEvery - 1;
    const [first, second] = isTurnOfBackground
      ? [this.#background, this.#interactive]
      : [this.#interactive, this.#background];
    const call = first.take(mayBegin) ?? second.take(mayBegin);
    if (call === undefined) return undefined;
    const isPassedOver = call.priority === 'interactive' && this.#background.size > 0;
    this.#since = isPassedOver ? Math.min(this.#since + 1, backgroundEvery - 1) : 0;
    return call;
  }

  /** About how many calls begin before a new one. Only those of `endpoint`, if given. */
  countAhead({ priority, group }: QueuedCall, endpoint?: string): number {
    const own = this.#of({ priority }).countAhead(group, endpoint);
    if (priority === 'background') {
      const others = this.#interactive.size;
      return own + Math.min(others, (own + 1) * (backgroundEvery - 1));
    }
    return own + Math.min(this.#background.size, Math.floor(own / (backgroundEvery - 1)));
  }

  #of({ priority }: Pick<QueuedCall, 'priority'>): FairQueue<Call> {
    return priority === 'interactive' ? this.#interactive : this.#background;
  }
}

/** A call that waits. Calls of one caller form a group. */
interface Queued {
  readonly group: string;
  readonly endpoint: string;
}

interface Group<Item> {
  readonly name: string;
  /** In the order in which they wait. */
  readonly items: Item[];
}

/** Whether a call of this endpoint may begin. */
type MayBegin = (endpoint: string) => boolean;

/**
 * A queue in which groups take turns, whatever the number of their items. Within a group the oldest item that may begin
 * comes first, so that an endpoint at its limit does not hold up others.
 */
export class FairQueue<Item extends Queued> {
  /** In the order in which they are served. */
  readonly #groups: Group<Item>[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: Item): void {
    this.#groupOf(item).items.push(item);
    this.#size += 1;
  }

  /** Puts back an item that was taken, as the next one of the next group. */
  putBack(item: Item): void {
    const group = this.#groupOf(item);
    group.items.unshift(item);
    this.#groups.splice(this.#groups.indexOf(group), 1);
    this.#groups.unshift(group);
    this.#size += 1;
  }

  take(mayBegin: MayBegin): Item | undefined {
    // Each endpoint is asked about once, however many items wait for it.
    const blocked = new Set<string>();
    const canBegin = ({ endpoint }: Item) => {
      if (blocked.has(endpoint)) return false;
      if (mayBegin(endpoint)) return true;
      blocked.add(endpoint);
      return false;
    };
    for (const group of this.#groups) {
      const at = group.items.findIndex(canBegin);
      const [item] = at < 0 ? [] : group.items.splice(at, 1);
      if (item === undefined) continue;
      this.#groups.splice(this.#groups.indexOf(group), 1);
      if (group.items.length > 0) this.#groups.push(group);
      this.#size -= 1;
      return item;
    }
    return undefined;
  }

  remove(item: Item): void {
    const group = this.#groups.find(({ name }) => name === item.group);
    const at = group?.items.indexOf(item) ?? -1;
    if (group === undefined || at < 0) return;
    group.items.splice(at, 1);
    if (group.items.length === 0) this.#groups.splice(this.#groups.indexOf(group), 1);
    this.#size -= 1;
  }

  /**
   * How many items begin before a new one of this group, as the groups take turns. Only those of `endpoint`, if given.
   */
  countAhead(groupName: string, endpoint?: string): number {
    const counts = this.#groups.map(({ name, items }) => ({
      name,
      count:
        endpoint === undefined ? items.length : items.filter((item) => item.endpoint === endpoint).length,
    }));
    const own = counts.find(({ name }) => name === groupName)?.count ?? 0;
    return counts.reduce(
      (sum, { name, count }) => sum + (name === groupName ? own : Math.min(count, own + 1)),
      0,
    );
  }

  #groupOf({ group: name }: Queued): Group<Item> {
    const known = this.#groups.find((group) => group.name === name);
    if (known !== undefined) return known;
    const group = { name, items: [] };
    this.#groups.push(group);
    return group;
  }
}
