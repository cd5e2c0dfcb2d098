/** Runs a script in a Node process of its own: how a process behaves at its end cannot be seen from inside. */
import { spawn } from 'node:child_process';
import { clientEntry, modulesFolder, startBy } from './client.js';

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
  ms: number;
}

/** `script` is CommonJS with `createWorld` at hand. A child that has not ended after 20 s is killed: code null. */
export async function runChild(script: string, env: Record<string, string>): Promise<Outcome> {
  const source = `const { createWorld } = require(${JSON.stringify(clientEntry)});
    require(${JSON.stringify(modulesFolder)} + '/delivery/sdkVersion.js').noteStart(${JSON.stringify(startBy('4.8.9'))});
    ${script}`;
  const began = Date.now();
  const child = spawn(process.execPath, ['-e', source], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  return { code, stdout, stderr, ms: Date.now() - began };
}
