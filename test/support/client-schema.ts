import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { projectFolder } from './till-in-child.ts';

/** The types of the client, which `npm run openapi` writes. */
export const clientSchemaPath = join(projectFolder, 'client/src/schema.ts');

/** Beside the client, because it needs an older TypeScript. */
const generator = join(projectFolder, 'client/node_modules/openapi-typescript/bin/cli.js');
/** A field with a default is optional in a request. */
const options = ['--immutable', '--default-non-nullable=false'];

/** The types of an OpenAPI document, as they are committed. */
export async function generateClientSchema(openapi: string): Promise<string> {
  const child = spawn(process.execPath, [generator, ...options], { stdio: 'pipe' });
  child.stdin.end(JSON.stringify(JSON.parse(openapi, withoutProblems)));
  const [[code], schema, complaints] = await Promise.all([
    once(child, 'exit'),
    text(child.stdout),
    text(child.stderr),
  ]);
  assert.equal(code, 0, complaints);
  return schema;
}

/** Only successful responses: every failure is a `Problem`, and has its type in client/src/error-fields.ts. */
function withoutProblems(key: string, value: unknown): unknown {
  if (key !== 'responses' || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([status]) => /^[123]\d\d$/.test(status)));
}
