import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import kafkajs from 'kafkajs';

const settings = [
  'group.initial.rebalance.delay.ms=0', 'offsets.topic.num.partitions=4', 'transaction.state.log.num.partitions=4',
];

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Waits for a condition; `what` names it in the failure. */
export async function until(what, seconds, condition) {
  const end = Date.now() + seconds * 1000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${what}`);
    await sleep(50);
  }
}

export function equal(what, found, wanted) {
  const [left, right] = [found, wanted].map((value) => JSON.stringify(value));
  if (left !== right) throw new Error(`${what}: ${left}, not ${right}`);
}

/** `PROGRAM serve` on one loopback port in a directory of its own, or a running one that is not killed. */
export class Broker {
  constructor(program, directory, address = '127.0.0.1:0') {
    Object.assign(this, { program, directory, address });
  }

  async start() {
    if (!this.program) return;
    const words = ['serve', '--print', 'json', '--override', `listeners=PLAINTEXT://${this.address}`];
    for (const setting of [...settings, `log.dirs=${join(this.directory, 'data')}`]) words.push('--override', setting);
    const log = openSync(join(this.directory, 'broker.log'), 'a');
    this.process = spawn(this.program, words, { stdio: ['ignore', 'pipe', log] });
    const lines = createInterface({ input: this.process.stdout });
    const [line] = await Promise.race([once(lines, 'line'), once(this.process, 'exit').then(() => ['{}'])]);
    const told = JSON.parse(line);
    if (!told.listeners) throw new Error('the broker did not start');
    this.address = told.listeners[0].address;
  }

  /** SIGKILL and a new start on the same port: nothing is flushed, nobody is told. */
  async killAndStart() {
    if (!this.process) return;
    await this.close();
    await this.start();
  }

  async close() {
    if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await ended;
  }

  client() {
    return new kafkajs.Kafka({
      clientId: 'kafkajs', brokers: [this.address], logLevel: kafkajs.logLevel.NOTHING,
      retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 30 },
    });
  }
}

export const ends = async (admin, topic) =>
  Object.fromEntries((await admin.fetchTopicOffsets(topic)).map((p) => [p.partition, p.offset]).sort());

export const committed = async (admin, group, topic) => {
  const [found] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
  return Object.fromEntries(found.partitions.map((p) => [p.partition, p.offset]).sort());
};
