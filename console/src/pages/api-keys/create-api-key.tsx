import type { CreatedApiKey } from '@till/client';
import { useId, useState } from 'preact/hooks';
import { keyNamePattern, scopes } from '../../../../src/core/model/api-key.ts';
import { localTime } from '../../format/local-time.ts';
import { timeZone, toInstant, toLocal } from '../../format/time-zone.ts';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { ShownSecret } from '../../parts/shown-secret.tsx';
import type { Scope } from '../../session.ts';
import { till } from '../../session.ts';
import { scopeTexts } from './api-key.ts';

const namePattern = new RegExp(keyNamePattern);

/** Creates an API key, and shows it once. */
export function CreateApiKey({ onClose }: Closing) {
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<readonly Scope[]>(['read']);
  const [expiresAt, setExpiresAt] = useState('');
  // The API key is in memory only while this dialog is open.
  const [created, setCreated] = useState<CreatedApiKey | undefined>(undefined);
  const isNamed = namePattern.test(name);
  const isLater = expiresAt === '' || new Date(expiresAt) > new Date();
  if (created !== undefined) return <NewApiKey created={created} onClose={() => onClose(true)} />;
  return (
    <ActionDialog
      title="Create API key"
      confirm="Create API key"
      isReady={isNamed && isLater && chosen.length > 0}
      done={`API key ${name} created`}
      onClose={(hasActed) => (hasActed ? undefined : onClose(false))}
      act={async (idempotencyKey) => {
        const body = { name, scopes: chosen, expiresAt: expiresAt === '' ? null : expiresAt };
        setCreated(await till().apiKeys.create(body, { idempotencyKey }));
      }}
    >
      <TextField
        label="Name"
        value={name}
        maxlength={64}
        isValid={name === '' || isNamed}
        hint="The application that uses the API key: letters, digits, dots, hyphens and underscores."
        onInput={setName}
      />
      <Scopes chosen={chosen} onChange={setChosen} />
      <Expires value={expiresAt} isValid={isLater} onChange={setExpiresAt} />
      {isNamed && chosen.length > 0 && isLater && (
        <p>
          Creates an API key for {name} with the {chosen.length === 1 ? 'scope' : 'scopes'}{' '}
          {chosen.join(', ')}
          {expiresAt === '' ? ', which does not expire.' : `, which expires at ${localTime(expiresAt)}.`}
        </p>
      )}
    </ActionDialog>
  );
}

/** It cannot be shown again. */
function NewApiKey({
  created: { name, key },
  onClose,
}: {
  readonly created: CreatedApiKey;
  readonly onClose: () => void;
}) {
  return (
    <ShownSecret
      title={`The new API key ${name}`}
      value={key}
      text="Till stores only a digest and cannot show it again. Keep it where your application keeps its secrets."
      lost={
        'The API key was created, but the response that showed it was lost, and Till stores only a digest. Revoke ' +
        'this API key and create another one.'
      }
      onClose={onClose}
    />
  );
}

function Scopes({
  chosen,
  onChange,
}: {
  readonly chosen: readonly Scope[];
  readonly onChange: (chosen: readonly Scope[]) => void;
}) {
  const id = useId();
  return (
    <fieldset class="choices">
      <legend>Scopes</legend>
      {scopes.map((scope) => (
        <div key={scope} class="choice">
          <input
            type="checkbox"
            id={`${id}-${scope}`}
            checked={chosen.includes(scope)}
            aria-describedby={`${id}-${scope}-hint`}
            onChange={({ currentTarget }) =>
              onChange(scopes.filter((one) => (one === scope ? currentTarget.checked : chosen.includes(one))))
            }
          />
          <div>
            <label for={`${id}-${scope}`}>{scope}</label>
            <p id={`${id}-${scope}-hint`} class="quiet">
              {scopeTexts[scope]}
            </p>
          </div>
        </div>
      ))}
      {chosen.length === 0 && <p role="status">Choose at least one scope.</p>}
    </fieldset>
  );
}

function Expires({
  value,
  isValid,
  onChange,
}: {
  readonly value: string;
  readonly isValid: boolean;
  readonly onChange: (instant: string) => void;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{`Expires (optional, ${timeZone.name})`}</label>
      <input
        id={id}
        type="datetime-local"
        value={toLocal(value)}
        aria-invalid={!isValid}
        aria-describedby={`${id}-hint`}
        onChange={({ currentTarget }) => onChange(toInstant(currentTarget.value))}
      />
      <p id={`${id}-hint`} class="quiet">
        {isValid ? 'Without it, the API key does not expire.' : 'Choose a time in the future.'}
      </p>
    </div>
  );
}
