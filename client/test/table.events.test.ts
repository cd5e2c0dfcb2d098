/**
 * Every event type × state of its run and entity × repeat, for spec 3 (SDK v4) and 6 and 7 (v5), through the client and
 * HTTP, on the real service and a real Redis. The tables are contract §3; they stand in tables/.
 *
 * Each cell is tried four times: the call, the same request once more (same answer, no effect), the same call of
 * another caller, and the first request again after that. Each of the two calls is sent twice at once.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Real } from './helpers/real.js';
import { Recorder } from './helpers/recorder.js';
import { SPECS, sdkOf } from './helpers/sdk.js';
import { cellsOf, tryCells } from './helpers/tryTable.js';
import { hookTable } from './tables/hooks.js';
import { runTable } from './tables/runs.js';
import { stepTable } from './tables/steps.js';
import { waitTable } from './tables/waits.js';

let recorder: Recorder;
const real = Real.forThisFile({
  prepare: async ({ service }) => {
    recorder = await Recorder.start(service.url);
  },
});
after(() => recorder.stop());

const tables = { run: runTable, step: stepTable, hook: hookTable, wait: waitTable };

for (const spec of SPECS) {
  describe(`SDK ${sdkOf(spec)}, spec ${spec}`, () => {
    for (const [family, table] of Object.entries(tables)) {
      const cells = cellsOf(table, spec);
      test(`${family} events: ${cells.length} cells`, async () => {
        const [direct, recorded] = [await real.world(spec), await real.world(spec, recorder.url)];
        const wrong = await tryCells({ spec, direct, recorded, recorder }, cells);
        assert.equal(wrong.length, 0, `\n${wrong.join('\n')}\n`);
      });
    }
  });
}
