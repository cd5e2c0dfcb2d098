// @ts-check
// Measures the contenders of a suite in turn, in several rounds, so that other load affects all of them alike and
// none is always first.
import { say } from './progress.mjs';
import { summary } from './stats.mjs';

/** A measurement that failed and took longer than this is not repeated in later rounds. */
const TOO_LONG_MS = 60_000;

/**
 * A suite is `{name, title, sizes: {full, quick, tiny}, contenders: [name], metrics: [metric], round(context)}`. A
 * size may limit the `contenders` and the number of `rounds`; the table says which contenders were left out. A metric
 * is `{id, title, unit, better: 'less'|'more', peer?, bars?: [{peer, max?, min?}]}`: the ratio column is relative to
 * `peer`, and `bars` are the limits for world-redis's ratio. `round` measures one contender once and returns `{metric
 * id: number}`; a missing metric was not measured.
 *
 * @returns {Promise<object>} the suite's part of the result: for each metric and contender a summary or a failure
 */
export async function runSuite(suite, { rounds, scale, worlds, metrics }) {
  const size = suite.sizes[scale];
  const contenders = suite.contenders.filter((name) => !worlds || worlds.includes(name));
  const wanted = suite.metrics.filter(({ id }) => !metrics || metrics.has(id));
  const samples = new Map(contenders.map((name) => [name, []]));
  const failures = new Map();
  for (const name of contenders) {
    if (size.contenders && !size.contenders.includes(name)) failures.set(name, { skipped: `left out at scale ${scale}`, final: true });
  }

  const count = size.rounds ? Math.min(rounds, size.rounds) : rounds;
  for (let round = 0; round < count; round++) {
    const turn = round % contenders.length;
    for (const contender of [...contenders.slice(turn), ...contenders.slice(0, turn)]) {
      if (failures.get(contender)?.final) continue;
      say(`${suite.name}  round ${round + 1} of ${count}  ${contender}`);
      const spared = (id) => samples.get(contender).some((before) => before[id]?.tookMs > TOO_LONG_MS);
      const wants = (...ids) => wanted.some(({ id }) => ids.includes(id)) && !ids.some(spared);
      try {
        samples.get(contender).push(await suite.round({ contender, size, wants, round }));
      } catch (error) {
        say(`${suite.name}  ${contender} failed: ${error.message}`);
        // A contender that never worked will not work in the next round either.
        failures.set(contender, { message: firstLine(error.message), final: samples.get(contender).length === 0 });
      }
    }
  }
  return {
    name: suite.name,
    title: suite.title,
    rounds: count,
    size,
    metrics: wanted.map((metric) => ({
      ...metric,
      results: contenders.map((contender) => resultOf(metric, contender, samples.get(contender), failures.get(contender))),
    })),
  };
}

function resultOf({ id }, contender, rounds, failure) {
  const errors = rounds.map((r) => r[id]).filter((v) => v instanceof Error);
  const values = rounds.map((r) => r[id]).filter((v) => Number.isFinite(v));
  // Kept by round, for the ratio of two contenders in the same round.
  const byRound = rounds.map((r) => (Number.isFinite(r[id]) ? r[id] : null));
  const failed = failure?.message ?? (errors.length > 0 ? firstLine(errors[0].message) : undefined);
  return { contender, ...summary(values), byRound, failed, skipped: failure?.skipped };
}

function firstLine(text) {
  const lines = text.split('\n');
  const cause = lines.slice(1).find((line) => /Error/.test(line));
  return `${lines[0]}${cause ? ` ${cause.trim()}` : ''}`.slice(0, 160);
}

/** Runs one measurement of a round. If it fails, the others still count. */
export async function attempt(result, id, measure) {
  const began = performance.now();
  try {
    Object.assign(result, await measure());
  } catch (error) {
    say(`  ${id}: ${error.message}`);
    result[id] = Object.assign(new Error(error.message, { cause: error }), { tookMs: performance.now() - began });
  }
}
