// @ts-check
// Masters with replicas: what Sentinels watch, or a cluster. What is acknowledged is on the master's disk, and may be lost with it.

/** How long all may take to come together again. Each Sentinel counts some of its delays in ten seconds. */
const TOGETHER = { timeout: 120_000, every: 100 };

export class Replicated {
  #set;
  /** Of each master. */
  replicas;

  /** `start` gives a RedisSentinel or a ReplicatedCluster. */
  static async start(start) {
    const mode = new Replicated();
    mode.#set = await start();
    mode.replicas = mode.#set.nodes.length / mode.masters.length - 1;
    return mode;
  }

  get url() {
    return this.#set.url;
  }

  /** For what a check asks of Redis itself. */
  get redis() {
    return this.#set;
  }

  get masters() {
    return this.#set.masters;
  }

  /**
   * The processes that may be killed, frozen, and so on: `{kind, name, process}`. Of one kind one at a time, and the next one not
   * before all have come together: otherwise no majority may be left, or a replica with less than was acknowledged.
   */
  get processes() {
    const set = this.#set;
    const settled = () => set.settled(TOGETHER);
    const nodes = set.nodes.map((node, i) => {
      const process = {
        start: () => node.start(),
        kill: () => node.kill(),
        cut: (how) => set.cut(node, how),
        mend: () => set.mend(node),
        failover: () => set.failover(node),
        settled,
        get child() {
          return node.child;
        },
        get isMaster() {
          return set.masters.includes(node);
        },
      };
      return { kind: 'redis', name: `redis ${i + 1}`, process };
    });
    const sentinels = (set.sentinels ?? []).map((sentinel, i) => ({ kind: 'sentinel', name: `sentinel ${i + 1}`, process: sentinel }));
    return [...nodes, ...sentinels];
  }

  stop() {
    return this.#set.stop();
  }
}
