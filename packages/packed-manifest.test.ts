import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packedManifest } from './packed-manifest.ts';

const places = { source: 'src', outDir: 'dist' };

test('addresses of TypeScript become those of what is compiled from it, and others move with it', () => {
  const manifest = {
    bin: { shop: 'src/main.ts', old: 'src/old.mjs' },
    exports: {
      '.': './src/index.ts',
      './steps': { types: './src/steps/all.d.mts', default: './src/steps/all.mjs' },
      './package.json': './package.json',
    },
    types: './src/index.ts',
  };
  assert.deepEqual(packedManifest(manifest, places), {
    bin: { shop: 'dist/main.js', old: 'dist/old.mjs' },
    exports: {
      '.': { types: './dist/index.d.ts', default: './dist/index.js' },
      './steps': { types: './dist/steps/all.d.mts', default: './dist/steps/all.mjs' },
      './package.json': './package.json',
    },
    types: './dist/index.d.ts',
  });
});

test('imports keep their names', () => {
  const manifest = { imports: { '#core/*.ts': './src/core/*.ts' } };
  const stays = { source: '.', outDir: '.' };
  assert.deepEqual(packedManifest(manifest, stays), { imports: { '#core/*.ts': './src/core/*.js' } });
});

test('nothing that only a checkout needs is published', () => {
  const manifest = {
    ...{ name: '@till/shop', version: '1.0.0', private: true, workspaces: ['client'], allowScripts: {} },
    ...{ scripts: { start: 'x' }, devDependencies: { a: '1.0.0' }, dependencies: { b: '1.0.0' } },
  };
  assert.deepEqual(packedManifest(manifest, places), {
    ...{ name: '@till/shop', version: '1.0.0', dependencies: { b: '1.0.0' } },
  });
});
