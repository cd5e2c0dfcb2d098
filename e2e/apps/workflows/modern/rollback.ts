// Runs whose last events Redis loses while a step is at work. Each step says in the file `journal` of a folder that it begins, and
// goes on once there is a file with its name beside it.
import { existsSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { createHook, sleep } from 'workflow';

async function passes(folder: string, name: string) {
  'use step';
  await appendFile(`${folder}/journal`, `${name}\n`);
  while (!existsSync(`${folder}/${name}`)) await new Promise((done) => setTimeout(done, 20));
  return name;
}

export async function inARow(folder: string) {
  'use workflow';
  let path = '';
  for (const name of ['a', 'b', 'c']) path += await passes(folder, name);
  return path;
}

export async function sideBySide(folder: string) {
  'use workflow';
  const first = await passes(folder, 'a');
  const both = await Promise.all([passes(folder, 'b'), passes(folder, 'c')]);
  return first + both.join('') + (await passes(folder, 'd'));
}

export async function sleepsBetween(folder: string) {
  'use workflow';
  const first = await passes(folder, 'a');
  await sleep(500);
  return first + (await passes(folder, 'b'));
}

export async function hookBetween(folder: string, token: string) {
  'use workflow';
  const first = await passes(folder, 'a');
  const hook = createHook<string>({ token });
  const second = await passes(folder, 'b');
  return first + second + (await hook);
}
