import type { paths } from './schema.ts';

/** Types of the operations of Till's OpenAPI document, by path and method. */
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths that have this method. */
export type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends { readonly [Name in M]: { readonly responses: unknown } } ? P : never;
}[keyof paths];

/** The values in a path: `{ id: string }` for `/api/v1/payments/{id}`. */
type ParamsOf<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [Key in Name]: string } & ParamsOf<Rest>
  : unknown;

/** The part of a call that has the values in its path, for a path that has any. */
export type ParamsPart<P extends string> = keyof ParamsOf<P> extends never
  ? { readonly params?: undefined }
  : { readonly params: ParamsOf<P> };

/** The query of a GET. */
export type QueryOf<P extends PathsWith<'get'>> = paths[P]['get'] extends {
  readonly parameters: { readonly query?: infer Query };
}
  ? OrUndefined<NonNullable<Query>>
  : never;

/** Undefined counts as absent. */
type OrUndefined<Query> = {
  [Name in keyof Query]: Query[Name] | (Partial<Query>[Name] extends Query[Name] ? undefined : never);
};

/** The JSON body of a request. The idempotency key has a place of its own, in the options of a call. */
export type BodyOf<P extends keyof paths, M extends Method> = paths[P][M] extends {
  readonly requestBody?: { readonly content: { readonly 'application/json': infer Body } };
}
  ? Omit<Body, 'idempotencyKey'>
  : undefined;

/** The JSON of a successful response. */
export type ResponseOf<P extends keyof paths, M extends Method> = paths[P][M] extends {
  readonly responses: infer Responses;
}
  ? JsonOf<Responses[keyof Responses & (200 | 201 | 202)]>
  : never;

type JsonOf<Response> = Response extends {
  readonly content: { readonly 'application/json': infer Body };
}
  ? Body
  : undefined;
