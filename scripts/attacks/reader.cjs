// Lists and gets runs with the client, as an app would: `reader.cjs all|"one by one" RUN…`. Prints what came and how long
// the event loop stood still at most.
const { join } = require('node:path');
const { createWorld } = require(join(__dirname, '../../client'));

async function main() {
  const [how, ...ids] = process.argv.slice(2);
  const world = createWorld();
  let lag = 0;
  let last = performance.now();
  const pulse = setInterval(() => {
    lag = Math.max(lag, performance.now() - last - 10);
    last = performance.now();
  }, 10);
  const told = [];
  const note = async (text) => {
    await new Promise((resolve) => setTimeout(resolve, 30)); // the pulse sees what stood in its way
    told.push(text);
  };
  if (how === 'all') {
    try {
      const listed = new Set();
      for (let cursor, more = true; more; ) {
        const page = await world.runs.list({ pagination: { limit: 100, cursor } });
        page.data.forEach((run) => listed.add(run.runId));
        cursor = page.cursor;
        more = page.hasMore;
      }
      await note(`listed ${ids.filter((id) => listed.has(id)).length} of ${ids.length}`);
    } catch (error) {
      await note(`list: ${error.message}`.slice(0, 200));
    }
  }
  let got = 0;
  let failed = '';
  for (const id of ids) {
    try {
      const run = await world.runs.get(id);
      if (run.runId === id) got++;
    } catch (error) {
      failed ||= `, get: ${error.message}`.slice(0, 200);
    }
  }
  await note(`got ${got} of ${ids.length}${failed}`);
  clearInterval(pulse);
  console.log(JSON.stringify({ told: told.join(', '), lag: Math.round(lag) }));
  await world.close?.();
  process.exit(0);
}

main();
