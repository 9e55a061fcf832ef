#!/usr/bin/env node
import { launch } from '../src/platform/launch.mjs';

// Tests start with an empty state each time, so the sandbox writes files only if a folder is given.
const isDecided = process.argv.some((argument) => /^--(memory|data-dir|help)\b/.test(argument));
if (!isDecided && process.env['DATA_DIR'] === undefined) process.argv.push('--memory');

const { url } = import.meta;
const root = new URL('..', url).href;
await launch({ name: 'till-sandbox', bin: url, program: new URL('main.ts', url).href, root });
