// KafkaJS against the broker.
//
//   main.mjs --broker PATH [--full] [PART]          starts, kills and restarts `PATH serve` itself
//   main.mjs --bootstrap HOST:PORT [--full] [PART]  uses a running broker, which is not killed
//   PART                                            only the stories whose names contain this
//
// Exit code 0: all passed, 1: some failed, 2: wrong usage. The last line is `N passed, N failed`.

import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Broker } from './broker.mjs';
import { basics } from './basics.mjs';
import { groupStory } from './groups.mjs';
import { transactions } from './transactions.mjs';

const stories = {
  kafkajs_group: (broker, name) => groupStory(broker, name, false),
  kafkajs_killed: (broker, name) => groupStory(broker, name, true),
  kafkajs_transactions: (broker, name, seed) => transactions(broker, name, false, seed),
  kafkajs_transactions_killed: (broker, name, seed) => transactions(broker, name, true, seed),
  kafkajs_basics: basics,
};

const words = process.argv.slice(2).filter((word) => word !== '--full');
if (words.length < 2 || words.length > 3 || !['--broker', '--bootstrap'].includes(words[0])) {
  console.error('usage: main.mjs (--broker PATH | --bootstrap HOST:PORT) [--full] [PART]');
  process.exit(2);
}
const seed = Number(process.env.THALWEG_SEED ?? Math.floor(Math.random() * 2 ** 32));
console.log(`THALWEG_SEED=${seed}`);
const work = mkdtempSync(join(tmpdir(), 'thalweg-node-clients-'));

async function tell(name) {
  const start = Date.now();
  const seconds = () => ((Date.now() - start) / 1000).toFixed(1);
  const directory = join(work, name);
  mkdirSync(directory);
  const broker = words[0] === '--broker' ? new Broker(words[1], directory) : new Broker(null, directory, words[1]);
  try {
    await broker.start();
    const told = await stories[name](broker, `${name}-${process.pid}-${seed & 0xffff}`, seed);
    console.log(`ok   ${name} (${seconds()} s): ${told}`);
    return true;
  } catch (problem) {
    console.log(`FAIL ${name} (${seconds()} s): ${problem.stack ?? problem}\n     logs and data: ${directory}`);
    return false;
  } finally {
    await broker.close();
  }
}

const results = await Promise.all(Object.keys(stories).filter((name) => name.includes(words[2] ?? '')).map(tell));
const passed = results.filter(Boolean).length;
console.log(`${passed} passed, ${results.length - passed} failed`);
process.exit(passed > 0 && passed === results.length ? 0 : 1);
