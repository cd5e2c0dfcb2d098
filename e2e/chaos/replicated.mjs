// @ts-check
// Masters with replicas: with Sentinels, or as a cluster. What is acknowledged is on the master's disk, and may be
// lost with the master.

/** How long recovery may take. Some delays of a Sentinel are multiples of ten seconds. */
const TOGETHER = { timeout: 120_000, every: 100 };

export class Replicated {
  #set;
  /** Per master. */
  replicas;

  /** `start` returns a RedisSentinel or a ReplicatedCluster. */
  static async start(start) {
    const mode = new Replicated();
    mode.#set = await start();
    mode.replicas = mode.#set.nodes.length / mode.masters.length - 1;
    return mode;
  }

  get url() {
    return this.#set.url;
  }

  /** For checks that query Redis directly. */
  get redis() {
    return this.#set;
  }

  get masters() {
    return this.#set.masters;
  }

  /**
   * The processes that may get faults: `{kind, name, process}`. Only one per kind at a time, and the next one only
   * after full recovery: otherwise there may be no majority left, or only a replica with fewer writes than were
   * acknowledged.
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
