import { defineCommand } from '../command.ts';

export const start = defineCommand({
  name: 'start',
  summary: 'start the service, as "npm start" does',
  details: `Settings are environment variables. With --json, the log is JSON, as with LOG_FORMAT=json. SIGTERM and SIGINT stop the
service: exit code 0 if everything ended in time, else 1.`,
  run: async ({ environment, output }) => {
    const { serve } = await import('#runtime/composition/serve.ts');
    if (output.isJson) environment['LOG_FORMAT'] = 'json';
    output.setExitCode(await serve(environment));
  },
});
