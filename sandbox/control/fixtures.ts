import type { AnyCollection } from '../state/collections.ts';
import { shorten } from '../wire/form.ts';
import { words } from '../wire/nulls.ts';
import type { WireObject } from '../wire/objects.ts';
import type { Operation } from '../wire/operation.ts';
import { requestTime } from '../wire/request-clock.ts';
import { WireError } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';
import { ControlInputError, formOf, type Input, isObject, jsonObject } from './control-input.ts';

/** More than a test needs. Loading this many takes about a tenth of a second, in which no request is served. */
const objectsMax = 1_000;
/** The processor's own limit for ids that callers choose. */
const idLengthMax = 255;

/**
 * An object usually refers to objects of earlier kinds. Unlisted kinds come last. Invoice items come before the
 * invoices that include them, but an item that names its invoice comes after it.
 */
const order: readonly string[] = words(
  'test_clocks tax_rates products meters prices coupons payment_methods customers promotion_codes',
  'webhook_endpoints setup_intents payment_intents subscriptions subscription_schedules invoiceitems invoices',
);

interface Kind {
  readonly name: string;
  readonly create: Operation;
  readonly collection: AnyCollection;
}

interface Entry {
  readonly kind: Kind;
  readonly fields: Input;
  /** The place in the input, for errors. */
  readonly at: string;
}

/**
 * Creates the objects that the JSON describes: for each kind, the parameters of its `create` operation, and optionally
 * an `id`. Everything happens in one transaction, so an error in one object means that none are created.
 */
export function loadFixtures(
  world: World,
  operations: readonly Operation[],
  body: string,
): Record<string, object[]> {
  const input = jsonObject(body);
  const entries = Object.keys(input)
    .map((name) => kindOf(world, operations, name))
    .flatMap((kind) => entriesOf(kind, input[kind.name]))
    .toSorted((a, b) => rank(a) - rank(b));
  if (entries.length > objectsMax)
    throw new ControlInputError(`A request can load at most ${objectsMax} objects, not ${entries.length}.`);
  const loaded: Record<string, object[]> = {};
  return world.store.transact(null, () => {
    for (const { kind, fields, at } of entries) {
      const objects = loaded[kind.name] ?? [];
      objects.push(load(world, kind, fields, at));
      loaded[kind.name] = objects;
    }
    return loaded;
  });
}

function rank({ kind: { name }, fields }: Entry): number {
  const position = order.indexOf(name);
  return position < 0 || (name === 'invoiceitems' && fields['invoice'] != null) ? order.length : position;
}

function kindOf({ store }: World, operations: readonly Operation[], name: string): Kind {
  const create = operations.find((operation) => operation.name === `${name}.create`);
  const collection = store.collection(name);
  if (create !== undefined && collection !== undefined) return { name, create, collection };
  const known = operations.flatMap((operation) =>
    operation.name.endsWith('.create') ? [operation.name.slice(0, -'.create'.length)] : [],
  );
  throw new ControlInputError(`Unknown kind "${shorten(name)}". Known kinds: ${known.sort().join(', ')}.`);
}

function entriesOf(kind: Kind, list: unknown): Entry[] {
  if (!Array.isArray(list)) throw new ControlInputError(`"${kind.name}" must be a list of objects.`);
  return list.map((fields: unknown, index) => {
    const at = `${kind.name}[${index}]`;
    if (!isObject(fields)) throw new ControlInputError(`${at} must be an object.`);
    return { kind, fields, at };
  });
}

function load(world: World, kind: Kind, { id, ...fields }: Input, at: string): object {
  const { store } = world;
  const isEndpoint = kind.name === store.webhookEndpoints.name;
  const secret = isEndpoint ? fields['secret'] : undefined;
  const form = formOf(isEndpoint ? { ...fields, secret: undefined } : fields, at);
  const call = world.callOn('');
  const create = () => {
    // `create` operations return the object that they have created.
    return kind.create.run(call, form) as WireObject;
  };
  try {
    const created = store.clock.at(requestTime(kind.create, call, form), () =>
      id === undefined ? create() : kind.collection.choosingId(checkedId(kind, id, at), create),
    );
    if (id !== undefined && created.id !== id)
      throw new ControlInputError(`${at}: ids of this kind cannot be chosen.`);
    return secret === undefined ? created : withSecret(world, created.id, secret, at);
  } catch (error) {
    if (error instanceof WireError) throw new ControlInputError(`${at}: ${error.message}`);
    throw error;
  }
}

function checkedId({ collection }: Kind, id: unknown, at: string): string {
  if (
    typeof id !== 'string' ||
    !id.startsWith(collection.idPrefix) ||
    id.length > idLengthMax ||
    !/^[A-Za-z0-9_]+$/.test(id.slice(collection.idPrefix.length))
  )
    throw new ControlInputError(
      `${at}: "id" must be "${collection.idPrefix}" followed by letters, digits or underscores, at most ${idLengthMax} characters.`,
    );
  if (collection.get(id) !== undefined) throw new ControlInputError(`${at}: "${id}" already exists.`);
  return id;
}

/** Applications read their signing secret before a test starts, so the caller can choose it. */
function withSecret({ store }: World, id: string, secret: unknown, at: string): object {
  const endpoint = store.webhookEndpoints.get(id);
  if (endpoint === undefined || typeof secret !== 'string' || !/^whsec_[A-Za-z0-9+/=_-]{1,249}$/.test(secret))
    throw new ControlInputError(`${at}: "secret" must be "whsec_" followed by letters and digits.`);
  return store.change(store.webhookEndpoints, endpoint, { secret });
}
