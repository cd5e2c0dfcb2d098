// @ts-check
// The conditions of a measurement, without which figures mean nothing.
import { execFileSync } from 'node:child_process';
import os from 'node:os';
import { repository } from './paths.mjs';

/** The machine, the versions, the commit, and the load at the start. */
export function describeMachine() {
  const load = os.loadavg()[0];
  return {
    date: new Date().toISOString(),
    commit: output('git', ['-C', repository, 'describe', '--always', '--dirty']),
    cpu: os.cpus()[0]?.model.trim(),
    cores: os.availableParallelism(),
    memoryGB: Math.round(os.totalmem() / 2 ** 30),
    os: `${os.type()} ${os.release()} ${os.arch()}`,
    node: process.version,
    go: output('go', ['env', 'GOVERSION']),
    redis: /v=(\S+)/.exec(output('redis-server', ['--version']))?.[1],
    loadAtStart: Number(load.toFixed(2)),
    busy: load > os.availableParallelism() / 4,
  };
}

function output(command, args) {
  try {
    return execFileSync(command, args, { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
