import type { Documented } from '../../support/openapi-document.ts';
import type { ApiRequest } from '../../support/right-requests.ts';
import type { TillInProcess } from '../../support/till-in-process.ts';
import type { Tills } from '../tills.ts';

/** What recipes use. */
export interface Scene extends Tills {
  /** A Till with a processor of its own, whose clock the recipes move. It does not wait for turns. */
  readonly later: TillInProcess;
  /** Sends a request, and checks that its response is documented. Returns the body. */
  send(operation: Documented, request: Prepared): Promise<Readonly<Record<string, unknown>>>;
}

/** The request that gets the wanted response. */
export interface Prepared extends ApiRequest {
  /** The Till that must get it. One of the two processes by default. */
  readonly to?: { readonly url: string };
  /** The API key of the request. One with every scope by default. */
  readonly key?: string;
  /** Undoes what the recipe did to others. */
  readonly undo?: () => unknown;
}

/** How to reach a case of an operation. */
export type Recipe = (scene: Scene, operation: Documented) => Promise<Prepared> | Prepared;

/** Recipes by code and operation. */
export type Recipes = Readonly<Record<string, Readonly<Record<string, Recipe>>>>;

const made = new WeakMap<Scene, Map<string, Promise<unknown>>>();

/** Makes something at its first use. Recipes share what refused requests leave as it is. */
export function oncePer<Made>(scene: Scene, name: string, make: () => Promise<Made> | Made): Promise<Made> {
  const ofScene = made.get(scene) ?? new Map<string, Promise<unknown>>();
  made.set(scene, ofScene);
  // The name decides the type.
  const found = (ofScene.get(name) as Promise<Made> | undefined) ?? Promise.resolve(make());
  ofScene.set(name, found);
  return found;
}
