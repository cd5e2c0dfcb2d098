// @ts-check
// The environment of an example's commands: this repository's Node 22, Bun and Deno come first, and nothing calls home.
import { delimiter, dirname } from 'node:path';
import { manager, nodeOf } from '../../e2e/lib/paths.mjs';

export function toolsEnv() {
  return {
    PATH: [dirname(nodeOf('v4')), dirname(manager('bun')), process.env.PATH].join(delimiter),
    ...Object.fromEntries(['NEXT', 'ASTRO', 'NUXT'].map((name) => [`${name}_TELEMETRY_DISABLED`, '1'])),
    DO_NOT_TRACK: '1',
    WORKFLOW_NO_UPDATE_CHECK: '1',
  };
}
