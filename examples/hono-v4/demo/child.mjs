// Starts a child process, keeps what it prints, and ends exactly that process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const running = new Set();

// Should the demo itself end badly, its children go with it.
process.on('exit', () => running.forEach((child) => child.process.kill('SIGKILL')));

export function startChild(name, command, args, options) {
  const child = { name, output: '', process: spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] }) };
  running.add(child);
  for (const stream of [child.process.stdout, child.process.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (child.output = (child.output + text).slice(-20_000)));
  }
  child.process.once('error', (error) => (child.output += `\n${error.message}`));
  child.exited = once(child.process, 'close').then(
    ([code, signal]) => code ?? signal,
    (error) => error.message,
  );
  child.exited.then(() => running.delete(child));
  return child;
}

/** Waits until url answers 2xx; throws when the child ends before that or the signal fires. */
export async function untilReady(child, url, signal) {
  for (;;) {
    signal.throwIfAborted();
    if (!running.has(child)) throw new Error(`${child.name} ended (${await child.exited}) before it was ready`);
    if (
      await fetch(url, { signal }).then(
        (r) => r.ok,
        () => false,
      )
    )
      return;
    await delay(50);
  }
}

/** Asks the child to stop, and insists after ten seconds. */
export async function stopChild(child) {
  if (!running.has(child)) return child.exited;
  child.process.kill('SIGTERM');
  const insist = setTimeout(() => child.process.kill('SIGKILL'), 10_000);
  const code = await child.exited;
  clearTimeout(insist);
  if (code !== 0) throw new Error(`${child.name} did not stop cleanly: ${code}`);
  return code;
}

/** A port of this machine that nobody listens on. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
