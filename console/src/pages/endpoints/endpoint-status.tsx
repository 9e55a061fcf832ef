import type { EventEndpoint } from '@till/client';
import { Status } from '../../parts/status.tsx';

export function EndpointStatus({ of: { enabled, failingSince } }: { readonly of: EventEndpoint }) {
  if (!enabled) return <Status value="off" tone="done" />;
  return failingSince === null ? <Status value="on" tone="good" /> : <Status value="failing" tone="bad" />;
}
