// @ts-check
// The examples of this folder, as their example.json describes them (README.md).
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const folder = fileURLToPath(new URL('..', import.meta.url));
export const modes = ['dev', 'production', 'moved'];

/**
 * A process of the app. `port`: the argument (`--port`) or the variable (`PORT`) that sets its port. `leaves`: of the
 * command line of a process that the framework itself leaves running.
 *
 * @typedef {{ command: string[], port?: string, env?: Record<string, string>, cwd?: string, client?: 'package' | 'file', leaves?: string }} Start
 * @typedef {object} Example
 * @property {string} name  its folder
 * @property {string} files  the folder of its files: its own, or that of another example
 * @property {string} title
 * @property {string[]} sdk
 * @property {string} template  the command that makes the framework's template
 * @property {Start} [dev]
 * @property {string[]} [build]
 * @property {Start} [start]
 * @property {Start & { copy: string[] }} [moved]
 * @property {Record<string, string>} [unsupported]  by "v5 dev" and the like: why the SDK itself does not work so
 * @property {string} tested
 */

/**
 * Those with the given names, or all; of these, those that the target runs.
 *
 * @param {string[]} [names]
 * @param {string} [tested]
 * @returns {Example[]}
 */
export function examples(names = [], tested) {
  const all = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'example.json')));
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`no such example: ${unknown.join(', ')}; there are ${all.join(', ')}`);
  return all
    .filter((name) => names.length === 0 || names.includes(name))
    .map((name) => ({ name, files: name, ...JSON.parse(readFileSync(join(folder, name, 'example.json'), 'utf8')) }))
    .filter((example) => !tested || example.tested === tested);
}
