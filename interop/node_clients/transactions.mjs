import { committed, ends, equal, until } from './broker.mjs';

const partitions = 3;

/** A generator of chances that the seed decides. */
const chances = (seed) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

/** Reads input, writes output and commits offsets in transactions, some of which are aborted. */
export async function transactions(broker, name, kill, seed) {
  const total = process.argv.includes('--full') ? 6000 : 900;
  const kafka = broker.client();
  const admin = kafka.admin();
  await admin.connect();
  const [input, output] = [`${name}-in`, `${name}-out`];
  await admin.createTopics({ topics: [input, output].map((topic) => ({ topic, numPartitions: partitions })), waitForLeaders: true });

  // Records of a producer that nobody ends, and its successor, which settles them and fences it.
  const open = () => kafka.producer({ transactionalId: `${name}-abandoned`, idempotent: true, maxInFlightRequests: 1, retry: { retries: 5 } });
  const abandoned = open();
  await abandoned.connect();
  const transaction = await abandoned.transaction();
  await transaction.send({ topic: output, messages: [0, 1, 2].map((partition) => ({ partition, value: 'abandoned' })) });
  const successor = open();
  await successor.connect();
  const next = await successor.transaction();
  await next.abort();

  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const chance = chances(seed);
  const counts = { committed: 0, aborted: 0, failed: 0 };
  const consumer = kafka.consumer({
    groupId: name, sessionTimeout: 6000, heartbeatInterval: 500, maxWaitTimeInMs: 100, maxBytesPerPartition: 2000, readUncommitted: false,
  });
  // After a failure the producer is made anew, which settles its transaction; then it is known what is committed.
  let copier;
  const renew = async () => {
    await copier?.disconnect().catch(() => {});
    copier = kafka.producer({ transactionalId: `${name}-copier`, idempotent: true, maxInFlightRequests: 1 });
    await copier.connect();
    await (await copier.transaction()).abort();
  };
  await renew();
  await consumer.connect();
  await consumer.subscribe({ topics: [input], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    partitionsConsumedConcurrently: 1,
    eachBatch: async ({ batch, resolveOffset, heartbeat, isRunning, isStale }) => {
      if (!isRunning() || isStale() || batch.messages.length === 0) return;
      const attempt = counts.committed + counts.aborted + counts.failed;
      const commit = attempt !== 1 && chance() > 0.3;
      try {
        const step = await copier.transaction();
        const messages = batch.messages.map(({ value }) => ({ partition: batch.partition, value: `${value} in ${attempt}` }));
        await step.send({ topic: output, messages });
        if (!commit) {
          await step.abort();
          counts.aborted += 1;
          // Nothing is resolved: the client reads the batch again.
          consumer.seek({ topic: input, partition: batch.partition, offset: batch.firstOffset() });
          return;
        }
        const offsets = [{ partition: batch.partition, offset: String(Number(batch.lastOffset()) + 1) }];
        await step.sendOffsets({ consumerGroupId: name, topics: [{ topic: input, partitions: offsets }] });
        await step.commit();
        counts.committed += 1;
      } catch (problem) {
        counts.failed += 1;
        counts.problem = problem;
        await renew();
        const at = (await committed(admin, name, input))[batch.partition];
        consumer.seek({ topic: input, partition: batch.partition, offset: Number(at) < 0 ? '0' : at });
        return;
      }
      resolveOffset(batch.lastOffset());
      await heartbeat();
    },
  });
  for (let n = 0; n < 10; n += 1) {
    const messages = Array.from({ length: total / 10 }, (_, i) => {
      const number = (n * total) / 10 + i;
      return { partition: number % partitions, value: String(number) };
    });
    await producer.send({ topic: input, messages });
    if (n === 4 && kill) await broker.killAndStart();
    await until('the copier goes on', 60, () => counts.committed > n * 2);
  }
  const all = await ends(admin, input);
  await until('the committed offsets are the ends of the input', 60,
    async () => JSON.stringify(await committed(admin, name, input)) === JSON.stringify(all));
  await consumer.disconnect();
  await copier.disconnect();
  const fenced = await transaction.commit().then(() => false, () => true);
  equal('the abandoned producer is fenced', fenced, true);
  await abandoned.disconnect();
  await successor.disconnect();

  await producer.send({ topic: output, messages: [0, 1, 2].map((partition) => ({ partition, value: 'last' })) });
  await producer.disconnect();
  const values = await read(kafka, `${name}-committed`, output, false);
  for (let p = 0; p < partitions; p += 1) {
    const wanted = Array.from({ length: total / partitions }, (_, i) => String(i * partitions + p));
    equal(`partition ${p}`, values[p].map((value) => value.split(' ')[0]), wanted);
  }
  const everything = (await read(kafka, `${name}-all`, output, true)).flat().length;
  if (everything <= total + partitions) throw new Error('no aborted record was written: nothing was tried');
  await admin.disconnect();
  return `${counts.committed} committed, ${counts.aborted} aborted, ${counts.failed} failed; ${total} records, ${everything - total} aborted ones`;
}

/** All values by partition, up to the last record of each. */
async function read(kafka, group, topic, readUncommitted) {
  const consumer = kafka.consumer({ groupId: group, readUncommitted, maxWaitTimeInMs: 100 });
  const values = Array.from({ length: partitions }, () => []);
  let ended = 0;
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ partition, message }) => {
      const value = String(message.value);
      if (value === 'last') ended += 1;
      else values[partition].push(value);
    },
  });
  await until(`${topic} is read to its end`, 30, () => ended === partitions);
  await consumer.disconnect();
  return values;
}
