import { defineCommand } from '../command.ts';
import { withServices } from '../with-services.ts';

export const checkUsage = defineCommand({
  name: 'check-usage',
  summary: 'compare what was counted of each meter with the usage events that are kept',
  options: {
    correct: { type: 'boolean', about: 'set counters that are wrong to the sum of their events' },
  },
  details: `Windows that began before the events that are kept are left out. Lists every difference, and the exit code is then
1, unless --correct removes it.`,
  run: (call) =>
    withServices(call, async ({ usageCheck }) => {
      const { output, signal } = call;
      const corrects = call.values.correct === true;
      const { customers, wrong } = await usageCheck.run(corrects, signal);
      for (const { customerId, meterId, startsAt, used, sum } of wrong)
        output.note(
          `Customer ${customerId}, meter ${meterId}, window of ${startsAt.toISOString()}: counted ${used}, events ${sum}`,
        );
      if (wrong.length > 0 && !corrects) output.setExitCode(1);
      const result = corrects ? 'Corrected' : 'Found';
      output.result(
        { customers, corrects, wrong },
        wrong.length === 0
          ? `The usage of ${customers} customers is right.`
          : `${result} ${wrong.length} wrong counters of ${customers} customers.`,
      );
    }),
});
