/** A static route with the service's own schema, and nothing else. */
import { bareApp, serve } from './serve.ts';
import { subscriptionExample, subscriptionPath, subscriptionRoute } from './subscription-schema.ts';

const app = bareApp();
app.get(subscriptionPath, subscriptionRoute, async () => subscriptionExample);
await serve(app);
