import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';

interface Route {
  readonly steps: readonly string[];
  readonly methods: Set<string>;
}

/** Knows every route, to distinguish an unknown URL (404) from a wrong method (405 with `Allow`). */
export class RouteIndex {
  readonly #routes = new Map<string, Route>();

  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ url, method }) => {
      const route = this.#routes.get(url) ?? { steps: url.split('/'), methods: new Set() };
      for (const name of [method].flat()) route.methods.add(name);
      this.#routes.set(url, route);
    });
  }

  refusal(request: FastifyRequest): Failure {
    const steps = request.url.replace(/\?.*/s, '').split('/');
    const matching = [...this.#routes.values()].filter((route) => matches(route.steps, steps));
    const allow = [...new Set(matching.flatMap((route) => [...route.methods]))].sort();
    if (allow.length === 0) return new Failure('not_found', 'No route has this path. See /api/docs.');
    return new Failure('method_not_allowed', `Use one of these methods: ${allow.join(', ')}.`, { allow });
  }
}

function matches(pattern: readonly string[], steps: readonly string[]): boolean {
  if (pattern.at(-1) === '*') return false;
  return (
    pattern.length === steps.length &&
    pattern.every((step, index) => (step.startsWith(':') ? steps[index] !== '' : step === steps[index]))
  );
}
