import kafkajs from 'kafkajs';
import { committed, ends, equal, until } from './broker.mjs';

const stamp = 1_700_000_000_000;
const { CompressionTypes, ConfigResourceTypes } = kafkajs;

const refusal = async (call) => {
  try {
    await call();
  } catch (problem) {
    const inner = problem.errors?.[0] ?? problem.groups?.[0]?.error ?? problem;
    return inner.type ?? String(inner);
  }
  return null;
};

/** What every client does: write in each way, read it back, and administrate. */
export async function basics(broker, name) {
  const kafka = broker.client();
  const admin = kafka.admin();
  await admin.connect();
  const count = await writes(kafka, admin, `${name}-w`);
  await administrate(kafka, admin, `${name}-a`);
  await admin.disconnect();
  return `${count} records`;
}

const rows = (partition, count, label) => Array.from({ length: count }, (_, n) => ({
  partition, key: `key ${n}`, value: `${label} ${n} ${'x'.repeat((n * 7) % 300)}`, timestamp: String(stamp + n), headers: { number: String(n) },
}));

async function writes(kafka, admin, topic) {
  // The other codecs are no part of this client.
  const ways = [];
  for (const compression of [CompressionTypes.None, CompressionTypes.GZIP]) {
    for (const acks of [0, 1, -1]) ways.push({ compression, acks, idempotent: false });
    ways.push({ compression, acks: -1, idempotent: true });
  }
  await admin.createTopics({ topics: [{ topic, numPartitions: ways.length }], waitForLeaders: true });
  for (const [partition, { compression, acks, idempotent }] of ways.entries()) {
    const producer = kafka.producer({ idempotent, maxInFlightRequests: 1 });
    await producer.connect();
    await producer.send({ topic, acks, compression, messages: rows(partition, 100, `way ${partition}`) });
    await producer.disconnect();
  }
  const found = ways.map(() => []);
  const consumer = kafka.consumer({ groupId: `${topic}-reader`, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ partition, message: m }) => {
      found[partition].push({
        partition, key: String(m.key), value: String(m.value), timestamp: m.timestamp, headers: { number: String(m.headers.number) },
      });
    },
  });
  await until('all is read', 30, () => found.every((list) => list.length >= 100));
  await consumer.disconnect();
  for (const partition of ways.keys()) equal(`way ${partition}`, found[partition], rows(partition, 100, `way ${partition}`));
  return found.flat().length;
}

async function administrate(kafka, admin, topic) {
  const type = ConfigResourceTypes.TOPIC;
  const config = async () => {
    const told = await admin.describeConfigs({ includeSynonyms: false, resources: [{ type, name: topic, configNames: ['retention.ms'] }] });
    return told.resources[0].configEntries[0].configValue;
  };
  const configEntries = [{ name: 'retention.ms', value: '123456789' }];
  equal('created', await admin.createTopics({ topics: [{ topic, numPartitions: 2, configEntries }], waitForLeaders: true }), true);
  equal('created again', await admin.createTopics({ topics: [{ topic, numPartitions: 2 }] }), false);
  equal('config', await config(), '123456789');
  await admin.alterConfigs({ resources: [{ type, name: topic, configEntries: [{ name: 'retention.ms', value: '-1' }] }] });
  equal('changed config', await config(), '-1');
  await admin.createPartitions({ topicPartitions: [{ topic, count: 4 }] });
  equal('partitions', (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length, 4);

  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: [...rows(0, 50, 'a'), ...rows(3, 20, 'b')] });
  await producer.disconnect();
  equal('ends', await ends(admin, topic), { 0: '50', 1: '0', 2: '0', 3: '20' });
  const since = await admin.fetchTopicOffsetsByTimestamp(topic, stamp + 10);
  equal('since', since.map((p) => [p.partition, p.offset]).sort(), [[0, '10'], [1, '0'], [2, '0'], [3, '10']]);
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '30' }] });
  equal('starts', (await admin.fetchTopicOffsets(topic)).map((p) => [p.partition, p.low]).sort(), [[0, '30'], [1, '0'], [2, '0'], [3, '0']]);

  const groupId = `${topic}-group`;
  await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '40' }, { partition: 3, offset: '7' }] });
  const told = await committed(admin, groupId, topic);
  equal('committed', [told[0], told[3]], ['40', '7']);
  equal('listed', (await admin.listGroups()).groups.some((group) => group.groupId === groupId), true);
  equal('described', (await admin.describeGroups([groupId])).groups[0].state, 'Empty');
  await admin.deleteGroups([groupId]);
  equal('listed after', (await admin.listGroups()).groups.some((group) => group.groupId === groupId), false);
  equal('deleted again', await refusal(() => admin.deleteGroups([groupId])), 'GROUP_ID_NOT_FOUND');
  await admin.deleteTopics({ topics: [topic] });
  equal('deleted', (await admin.listTopics()).includes(topic), false);
}
