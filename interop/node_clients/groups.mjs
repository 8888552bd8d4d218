import { committed, ends, equal, sleep, until } from './broker.mjs';

const partitions = 6;

/** A member that commits each record before the next one; `ledger` is what all members share. */
async function join(kafka, group, topic, name, ledger) {
  const consumer = kafka.consumer({
    groupId: group, sessionTimeout: 6000, heartbeatInterval: 500, rebalanceTimeout: 10000, maxWaitTimeInMs: 200,
  });
  const member = { name, owned: [], consumer };
  const release = () => {
    for (const p of member.owned) if (ledger.owners.get(p) === name) ledger.owners.delete(p);
    member.owned = [];
  };
  consumer.on(consumer.events.REBALANCING, release);
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    release();
    member.owned = payload.memberAssignment[topic] ?? [];
    for (const p of member.owned) ledger.owners.set(p, name);
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch, heartbeat, isRunning, isStale }) => {
      if (!isRunning() || isStale() || batch.messages.length === 0) return;
      for (const { offset } of batch.messages) {
        const place = `${batch.partition}:${offset}`;
        ledger.read.set(place, (ledger.read.get(place) ?? 0) + 1);
      }
      // A commit that is refused because the group rebalances is told to the client, which reads the batch again.
      await consumer.commitOffsets([{ topic, partition: batch.partition, offset: String(Number(batch.lastOffset()) + 1) }]);
      for (const { offset } of batch.messages) {
        const place = `${batch.partition}:${offset}`;
        if (ledger.done.has(place)) ledger.conflicts.push(`${place} was done by ${ledger.done.get(place)} and ${name}`);
        ledger.done.set(place, name);
      }
      await heartbeat();
    },
  });
  member.leave = async () => {
    await consumer.disconnect();
    release();
  };
  return member;
}

function load(kafka, topic) {
  const producer = kafka.producer({ allowAutoTopicCreation: false, idempotent: true, maxInFlightRequests: 1 });
  const state = { acknowledged: new Set(), running: true };
  state.done = (async () => {
    await producer.connect();
    for (let n = 0; state.running; n += 1) {
      const messages = Array.from({ length: partitions }, (_, p) => ({ partition: p, value: `record ${n}` }));
      for (const told of await producer.send({ topic, messages })) {
        state.acknowledged.add(`${told.partition}:${told.baseOffset}`);
      }
      await sleep(10);
    }
    await producer.disconnect();
  })();
  state.stop = async () => {
    state.running = false;
    await state.done;
    return state.acknowledged;
  };
  return state;
}

/** Two, then three members; the broker may be killed; they go one by one. Then a new one resumes. */
export async function groupStory(broker, name, kill) {
  const kafka = broker.client();
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: name, numPartitions: partitions }], waitForLeaders: true });
  const ledger = { owners: new Map(), read: new Map(), done: new Map(), conflicts: [] };
  const work = load(kafka, name);
  const members = [];
  const shares = (...wanted) => () => {
    const owned = members.flatMap((m) => m.owned);
    const sizes = members.map((m) => m.owned.length).sort();
    return owned.length === partitions && new Set(owned).size === partitions && String(sizes) === String(wanted);
  };
  const state = async () => {
    const [group] = (await admin.describeGroups([name])).groups;
    return [group.state, group.members.length];
  };
  members.push(await join(kafka, name, name, 'first', ledger));
  await until('the first member owns all', 30, shares(6));
  members.push(await join(kafka, name, name, 'second', ledger));
  await until('two members share', 30, shares(3, 3));
  members.push(await join(kafka, name, name, 'third', ledger));
  await until('three members share', 30, shares(2, 2, 2));
  if (kill) await broker.killAndStart();
  const before = ledger.read.size;
  await until('all three read on', 60, () => shares(2, 2, 2)() && ledger.read.size > before + 200);
  equal('the group', await state(), ['Stable', 3]);
  await members.pop().leave();
  await until('two members share again', 40, shares(3, 3));
  await members.pop().leave();
  await until('the first member owns all again', 40, shares(6));
  const acknowledged = await work.stop();
  await until('all that was acknowledged is read', 40, () => [...acknowledged].every((place) => ledger.read.has(place)));
  const all = await ends(admin, name);
  await until('all is committed', 20, async () => JSON.stringify(await committed(admin, name, name)) === JSON.stringify(all));
  await members.pop().leave();
  // Only a kill may lose the answer to a commit.
  if (!kill) equal('what two members have done', ledger.conflicts, []);
  const twice = [...ledger.read.values()].reduce((sum, times) => sum + times - 1, 0);

  const more = load(kafka, name);
  await until('more is written', 20, () => more.acknowledged.size >= 100);
  const fresh = await more.stop();
  const later = { owners: new Map(), read: new Map(), done: new Map(), conflicts: [] };
  const member = await join(kafka, name, name, 'later', later);
  await until('it reads what is new', 40, () => [...fresh].every((place) => later.read.has(place)));
  await member.leave();
  equal('what is read after', later.read.size, fresh.size);
  equal('the group', await state(), ['Empty', 0]);
  await admin.deleteGroups([name]);
  await admin.disconnect();
  return `${acknowledged.size} records, ${twice} read twice`;
}
