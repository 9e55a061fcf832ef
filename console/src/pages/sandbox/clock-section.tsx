import { useState } from 'preact/hooks';
import { TextField } from '../../parts/field.tsx';
import { Section } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { Time } from '../../parts/values.tsx';
import { type Clock, callSandbox, useSandbox } from './sandbox-api.ts';
import { useControl } from './use-control.ts';

const daySeconds = 86_400;
const hourSeconds = 3_600;
/** The most that the API takes at a time. */
const daysMax = 366;

const steps = [
  ['An hour', hourSeconds],
  ['A day', daySeconds],
  ['A week', 7 * daySeconds],
  ['31 days', 31 * daySeconds],
] as const;

/** Moves the sandbox's clock forward: trials end, subscriptions renew, payments are retried. */
export function ClockSection() {
  const clock = useSandbox<Clock>('/clock');
  const { isBusy, run } = useControl();
  const [days, setDays] = useState('');
  const count = /^\d+$/.test(days) ? Number(days) : 0;
  const isValid = count >= 1 && count <= daysMax;
  const advance = (advanceSeconds: number) =>
    run(async () => {
      await callSandbox({ method: 'POST', path: '/clock', body: { advanceSeconds } });
      clock.reload();
    }, 'The clock has moved');
  return (
    <Section title="Clock">
      <Show resource={clock}>
        {({ now, offsetSeconds }) => (
          <p>
            It is <Time value={now} isExact /> at the sandbox
            {offsetSeconds > 0
              ? `, ${(offsetSeconds / daySeconds).toFixed(1)} days ahead of real time.`
              : '.'}{' '}
            Moving the clock does everything that is due by then: trials end, subscriptions renew, failed
            payments are retried. It cannot be moved back.
          </p>
        )}
      </Show>
      <div class="controls">
        {steps.map(([label, seconds]) => (
          <button key={label} type="button" disabled={isBusy} onClick={() => advance(seconds)}>
            {label}
          </button>
        ))}
        <form
          class="controls"
          onSubmit={(event) => {
            event.preventDefault();
            if (isValid) void advance(count * daySeconds);
          }}
        >
          <TextField
            label="Days"
            value={days}
            inputmode="numeric"
            isValid={days === '' || isValid}
            onInput={setDays}
          />
          <button type="submit" disabled={isBusy || !isValid}>
            {isBusy ? 'Moving…' : 'Move the clock'}
          </button>
        </form>
      </div>
    </Section>
  );
}
