import type { EventEndpointWithSecret } from '@till/client';
import { ShownSecret } from '../../parts/shown-secret.tsx';

export function EndpointSecret({
  of: { url, secret },
  onClose,
}: {
  readonly of: EventEndpointWithSecret;
  readonly onClose: () => void;
}) {
  return (
    <ShownSecret
      title="Signing secret"
      value={secret}
      text={`The application at ${url} verifies with it that events come from Till. Till does not show it again.`}
      lost="The response that showed the secret was lost. Rotate the secret to get another one."
      onClose={onClose}
    />
  );
}
