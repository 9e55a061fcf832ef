import { isTillError } from '../errors.ts';
import type { BodyOf, ParamsPart, PathsWith, QueryOf, ResponseOf } from '../operation-types.ts';
import type { RequestOptions, WriteOptions } from '../options.ts';
import type { Connection } from './connection.ts';

/**
 * The operations of the API by their paths. The types come from the OpenAPI document, so that a path, a value or a
 * method that does not exist fails to compile.
 */
export class Api {
  readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  async get<P extends PathsWith<'get'>>(
    path: P,
    { params, query }: ParamsPart<P> & { readonly query?: QueryOf<P> },
    options?: RequestOptions,
  ): Promise<ResponseOf<P, 'get'>> {
    const call = { method: 'GET', path, params: toRecord(params), query } as const;
    // The OpenAPI document, which the types come from, describes every response.
    return (await this.connection.json(call, options)) as ResponseOf<P, 'get'>;
  }

  post<P extends PathsWith<'post'>>(
    path: P,
    call: ParamsPart<P> & { readonly body?: BodyOf<P, 'post'> },
    options?: WriteOptions,
  ): Promise<ResponseOf<P, 'post'>> {
    return this.#write('POST', path, call, options);
  }

  patch<P extends PathsWith<'patch'>>(
    path: P,
    call: ParamsPart<P> & { readonly body: BodyOf<P, 'patch'> },
    options?: WriteOptions,
  ): Promise<ResponseOf<P, 'patch'>> {
    return this.#write('PATCH', path, call, options);
  }

  put<P extends PathsWith<'put'>>(
    path: P,
    call: ParamsPart<P> & { readonly body: BodyOf<P, 'put'> },
    options?: RequestOptions,
  ): Promise<ResponseOf<P, 'put'>> {
    return this.#write('PUT', path, call, options);
  }

  delete<P extends PathsWith<'delete'>>(
    path: P,
    call: ParamsPart<P> & { readonly body?: BodyOf<P, 'delete'> },
    options?: RequestOptions,
  ): Promise<ResponseOf<P, 'delete'>> {
    return this.#write('DELETE', path, call, options);
  }

  /** Deletes. If a retry finds nothing, an attempt before it has deleted the object and its response was lost. */
  async remove<P extends PathsWith<'delete'>>(
    path: P,
    call: ParamsPart<P>,
    options?: RequestOptions,
  ): Promise<void> {
    try {
      await this.#write('DELETE', path, call, options);
    } catch (error) {
      if (!isTillError(error, 'not_found') || error.attempts === 1) throw error;
    }
  }

  async #write<Result>(
    method: 'POST' | 'PATCH' | 'PUT' | 'DELETE',
    path: string,
    { params, body }: { readonly params?: unknown; readonly body?: object | undefined },
    options: WriteOptions | undefined,
  ): Promise<Result> {
    // The OpenAPI document, which the types come from, describes every response.
    return (await this.connection.json({ method, path, params: toRecord(params), body }, options)) as Result;
  }
}

/** `ParamsPart` has only strings, which the compiler cannot see while the path is a type parameter. */
function toRecord(params: unknown): Readonly<Record<string, string>> {
  return { ...(params as Readonly<Record<string, string>>) };
}
