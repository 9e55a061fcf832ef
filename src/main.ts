import { serve } from '#runtime/composition/serve.ts';

process.exit(await serve(process.env));
