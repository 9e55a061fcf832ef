import type { ControlResponse } from '../wire/server.ts';
import type { World } from '../worlds/world.ts';

/** One request to the control API or to a page of a world. */
export interface Request {
  readonly body: string;
  /** The id in the path. Empty if the path has none. */
  readonly id: string;
  readonly query: string;
}

export type Handler = (world: World, request: Request) => Promise<ControlResponse> | ControlResponse;

/** By method and path below `/sandbox/`, with `*` for an id. */
export type Handlers = Readonly<Record<string, Handler>>;
