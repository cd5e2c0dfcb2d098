// @ts-check
// The environment of an example's commands: this repository's Node 22, Bun and Deno come first, and nothing calls home.
import { delimiter, dirname } from 'node:path';
import { manager, nodeOf } from '../../e2e/lib/paths.mjs';

export function toolsEnv() {
  return {
    ...npmEnv(),
    PATH: [dirname(nodeOf('v4')), dirname(manager('bun')), process.env.PATH].join(delimiter),
    ...Object.fromEntries(['NEXT', 'ASTRO', 'NUXT'].map((name) => [`${name}_TELEMETRY_DISABLED`, '1'])),
    DO_NOT_TRACK: '1',
    WORKFLOW_NO_UPDATE_CHECK: '1',
  };
}

/** npm as it is set up on this machine: with its own Node, beside which its settings are, and the machine's certificates. */
export function npmEnv() {
  const { PATH, NODE_EXTRA_CA_CERTS } = process.env;
  return { PATH, NODE_EXTRA_CA_CERTS };
}
