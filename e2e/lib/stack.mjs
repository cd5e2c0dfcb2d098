// @ts-check
// What a test runs against: Redis (embedded or a server), the service, and an app of one SDK version.
import { Api } from './api.mjs';
import { App } from './app.mjs';
import { freePort } from './process.mjs';
import { RedisServer } from './redis.mjs';
import { RedisCluster } from './redisCluster.mjs';
import { Service } from './service.mjs';
import { notPersistent, unknownSetting } from './warns.mjs';

/** @typedef {import('./process.mjs').Environment} Environment */

/**
 * Starts all three and has them stopped when the test `t` is over; a service or app that then does not
 * stop with exit code 0 fails the test. So does a line at WARN or above in the service's log that the test does not expect:
 * there are no false alarms. When the test failed, the logs' last lines are printed.
 *
 * @param {import('node:test').TestContext} t  owns the stack
 * @param {object} [options]
 * @param {'embedded' | 'server' | 'cluster'} [options.redis]
 * @param {string} [options.sdk]  the app's folder
 * @param {string} [options.deploymentId]  of the app; the client's default if left out
 * @param {string} [options.token]  of the service, if it is to want one
 * @param {Environment} [options.serviceEnv]  further variables
 * @param {Environment} [options.appEnv]  further variables
 * @param {string} [options.appFolder]  a project that has the World, in which the app runs; its own if left out
 * @param {number} [options.appPort]  that the app listens on; a free one if left out
 * @param {string[]} [options.redisArgs]  further arguments of the redis-server
 * @param {RegExp[]} [options.warns]  patterns of the warnings that the test provokes
 */
export async function startStack(t, { redis = 'server', sdk = 'v4', deploymentId, token, serviceEnv, appEnv, appFolder, appPort, redisArgs = [], warns = [] } = {}) {
  const stack = new Stack(warns);
  t.after(() => stack.stop(t));
  if (redis === 'server') stack.redis = await RedisServer.start({ more: redisArgs });
  if (redis === 'cluster') stack.redis = await RedisCluster.start();
  stack.service = new Service({ redis: stack.redis, token, port: await freePort(), env: serviceEnv });
  await stack.service.start();
  stack.app = new App({ sdk, deploymentId, service: stack.service, port: appPort ?? (await freePort()), env: appEnv, folder: appFolder });
  await stack.app.start();
  stack.api = new Api(stack.service.url, token);
  return stack;
}

class Stack {
  /** Not there where it is embedded. @type {any} */
  redis;
  /** @type {Service} */
  service;
  /** @type {App} */
  app;
  /** @type {Api} */
  api;
  #warns;
  #seconds = [];

  constructor(warns) {
    this.#warns = warns;
  }

  /** Another replica on the same Redis, which the app does not know. The test stops or kills it. */
  async startSecondService(env) {
    const second = new Service({ redis: this.redis, token: this.service.token, port: await freePort(), env });
    this.#seconds.push(second);
    await second.start();
    return second;
  }

  async stop(t) {
    const codes = {};
    for (const part of ['app', 'service']) {
      if (this[part]) codes[part] = await this[part].stop();
    }
    await this.redis?.stop();
    const unclean = Object.entries(codes).filter(([, code]) => code !== 0);
    const alarms = [this.service, ...this.#seconds].flatMap((service) => falseAlarms(service?.alarms ?? [], this.#warns));
    if (t.passed === false || unclean.length > 0 || alarms.length > 0) {
      for (const part of ['service', 'app']) console.error(`--- ${part} of "${t.name}" ---\n${this[part]?.tail}`);
    }
    if (unclean.length > 0) throw new Error(`did not stop with 0: ${JSON.stringify(codes)}`);
    if (alarms.length > 0) throw new Error(`false alarms in the service's log:\n${alarms.join('\n')}`);
  }
}

const always = process.env.E2E_BINARY ? [notPersistent, unknownSetting] : [notPersistent];

/** The log lines at WARN or above that no test expects. */
const falseAlarms = (alarms, warns = []) => alarms.filter((line) => ![...always, ...warns].some((pattern) => pattern.test(line)));
