#!/usr/bin/env node
import { launch } from '../platform/launch.mjs';

const { url } = import.meta;
const root = new URL('../..', url).href;
await launch({ name: 'till', bin: url, program: new URL('cli.ts', url).href, root });
