import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import { problemContentType } from '../failures/problem.ts';

/**
 * Hides the schemas of problems from the framework, and returns the whole schema of each route, for the document. For
 * every schema of a response the framework compiles a serialiser. Problems need none: `sendProblem` sends bytes. Theirs
 * would take more than half of the time in which the service starts.
 */
export function hideProblems(app: FastifyInstance): WeakMap<RouteOptions, FastifySchema> {
  const whole = new WeakMap<RouteOptions, FastifySchema>();
  app.addHook('onRoute', (route) => {
    const { schema } = route;
    if (schema?.response === undefined) return;
    whole.set(route, schema);
    const answers = Object.entries(schema.response ?? {}).filter(([, response]) => !isProblem(response));
    route.schema = { ...schema, response: Object.fromEntries(answers) };
  });
  return whole;
}

function isProblem(response: unknown): boolean {
  // What a route declares for a status; see `answer` and `problems`.
  const { content } = response as { readonly content?: Readonly<Record<string, unknown>> };
  return content?.[problemContentType] !== undefined;
}
