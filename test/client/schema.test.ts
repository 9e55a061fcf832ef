import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { clientSchemaPath, generateClientSchema } from '../support/client-schema.ts';
import { projectFolder } from '../support/till-in-child.ts';

test('the types of the client are those of the OpenAPI document', async () => {
  const openapi = await readFile(join(projectFolder, 'openapi.json'), 'utf8');
  const isSame = (await generateClientSchema(openapi)) === (await readFile(clientSchemaPath, 'utf8'));
  assert.ok(isSame, 'client/src/schema.ts is out of date: npm run openapi');
});
