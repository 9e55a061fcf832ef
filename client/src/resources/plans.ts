import type { RequestOptions, WriteOptions } from '../options.ts';
import type { Api } from '../requests/api.ts';
import type { NewPlan, Plan, PlanChange, PlanQuery } from '../types.ts';

/** What customers subscribe to. */
export class Plans {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  create(plan: NewPlan, options?: WriteOptions): Promise<Plan> {
    return this.#api.post('/api/v1/plans', { body: plan }, options);
  }

  get(id: string, options?: RequestOptions): Promise<Plan> {
    return this.#api.get('/api/v1/plans/{id}', { params: { id } }, options);
  }

  update(id: string, change: PlanChange, options?: WriteOptions): Promise<Plan> {
    return this.#api.patch('/api/v1/plans/{id}', { params: { id }, body: change }, options);
  }

  /** Ends its sale. Existing subscriptions continue. */
  archive(id: string, options?: WriteOptions): Promise<Plan> {
    return this.#api.post('/api/v1/plans/{id}/archive', { params: { id } }, options);
  }

  /** All plans at once: there are few. */
  list(query: PlanQuery = {}, options?: RequestOptions): Promise<readonly Plan[]> {
    return this.#api.get('/api/v1/plans', { query }, options);
  }
}
