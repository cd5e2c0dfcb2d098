#!/usr/bin/env node
// The command world-redis of the npm package of that name: starts the binary of this platform, which is in a package of
// its own (`optionalDependencies`), and ends as it ends.
'use strict';
const { spawn } = require('node:child_process');
const { optionalDependencies } = require('../package.json');

const platform = `${process.platform}-${process.arch}`;
const name = `@world-redis/${platform}`;

function binary() {
  if (!(name in optionalDependencies)) {
    const known = Object.keys(optionalDependencies).map((one) => one.replace('@world-redis/', ''));
    throw new Error(`there is no binary for ${platform}, only for ${known.join(', ')}. Build it from source: https://github.com/world-redis/world-redis`);
  }
  try {
    return require.resolve(`${name}/bin/world-redis${process.platform === 'win32' ? '.exe' : ''}`);
  } catch {
    throw new Error(`the package ${name}, which has the binary, is not installed. Install world-redis again with its optional dependencies (without --omit=optional), and on this platform.`);
  }
}

function fail(error) {
  process.stderr.write(`world-redis: ${error.message}\n`);
  process.exit(1);
}

let path;
try {
  path = binary();
} catch (error) {
  fail(error);
}
const child = spawn(path, process.argv.slice(2), { stdio: 'inherit' });
// The binary decides what a signal means, such as an orderly stop, and when it is over.
// On Windows the console sends Ctrl-C to the binary, too, and there `kill` would end it at once.
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
for (const signal of signals) process.on(signal, () => process.platform !== 'win32' && child.kill(signal));
child.on('error', fail);
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  for (const one of signals) process.removeAllListeners(one);
  process.kill(process.pid, signal);
});
