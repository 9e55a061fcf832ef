import { serve } from './till/serve.ts';

process.exit(await serve(process.env));
