// kafkajs as a program: a JSON command per line of stdin, a JSON event per line of stdout (docs/conformance.md).
'use strict'

const readline = require('node:readline')
const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, logLevel } = require('kafkajs')
const snappy = require('kafkajs-snappy')
const lz4 = require('lz4js')
const xxh32 = require('lz4js/xxh32.js')
const zstd = require('@bokuweb/zstd-wasm')

const LIMIT_MS = 20000
const say = event => process.stdout.write(JSON.stringify(event) + '\n')

// kafkajs itself knows gzip only; codecs are plugged in, and these three need no compiler.
CompressionCodecs[CompressionTypes.Snappy] = snappy
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async encoder => independent(Buffer.from(lz4.compress(encoder.buffer))),
  decompress: async buffer => inflate(buffer),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async buffer => Buffer.from(zstd.decompress(buffer)),
})
// Kafka refuses LZ4 frames whose blocks may depend on each other. lz4js marks its frames so, although one block of 4 MB
// depends on nothing: set the flag, and the checksum of the two bytes that describe the frame.
const independent = frame => {
  frame[4] |= 0x20
  frame[6] = (xxh32.hash(0, frame, 4, 2) >> 8) & 0xff
  return frame
}
// lz4js looks for a block's checksum before the block, where it is not: aiokafka's frames have them. Its block decoder is fine.
const inflate = frame => {
  const blocks = []
  let at = 7 + (frame[4] & 0x08 ? 8 : 0)
  for (let size = frame.readUInt32LE(at); size !== 0; size = frame.readUInt32LE(at)) {
    const length = size & 0x7fffffff
    blocks.push({ at: at + 4, length, stored: size > length })
    at += 4 + length + (frame[4] & 0x10 ? 4 : 0)
  }
  const largest = 1 << (8 + 2 * ((frame[5] >> 4) & 7))
  const out = Buffer.alloc(largest * blocks.length)
  let end = 0
  for (const block of blocks) {
    end = block.stored
      ? end + frame.copy(out, end, block.at, block.at + block.length)
      : lz4.decompressBlock(frame, out, block.at, block.length, end)
  }
  return out.subarray(0, end)
}
const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

const kafka = new Kafka({
  clientId: 'conformance',
  brokers: [process.argv[2]],
  logLevel: logLevel.ERROR,
  logCreator: () => ({ namespace, log }) => process.stderr.write(`${namespace}: ${JSON.stringify(log)}\n`),
  retry: { initialRetryTime: 50, retries: 8 },
})

const told = (partition, message) => [
  partition,
  Number(message.offset),
  message.key.toString(),
  message.value.toString(),
  message.headers.n.toString(),
]

const withAdmin = async work => {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.disconnect()
  }
}

const partitionsOf = async (admin, topic) =>
  (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length

const newConsumer = groupId =>
  kafka.consumer({ groupId, sessionTimeout: 6000, heartbeatInterval: 300, rebalanceTimeout: 6000, maxWaitTimeInMs: 100 })

// What `look` sees once it is wanted, or after five seconds: Apache Kafka tells its changes a little later.
const eventually = async (look, wanted) => {
  const deadline = Date.now() + 5000
  let seen = await look()
  while (seen !== wanted && Date.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, 50))
    seen = await look()
  }
  return seen
}

let member = null

const verbs = {
  create: ({ topic, partitions }) =>
    withAdmin(async admin => {
      await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: partitions }] })
      return partitionsOf(admin, topic)
    }),

  produce: async ({ topic, partitions, codec, records }) => {
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    try {
      const messages = records.map(([n, key, value]) => ({
        partition: n % partitions,
        key,
        value,
        headers: { n: String(n) },
      }))
      const answers = await producer.send({ topic, acks: -1, compression: CODECS[codec], messages })
      // An answer per partition, with its first offset only.
      const next = new Map(answers.map(answer => [answer.partition, Number(answer.baseOffset)]))
      return messages.map(({ partition }) => {
        const offset = next.get(partition)
        next.set(partition, offset + 1)
        return [partition, offset]
      })
    } finally {
      await producer.disconnect()
    }
  },

  // kafkajs always reads in a group: one of its own per read, whose offsets are never committed.
  read: async ({ topic, count }) => {
    const consumer = newConsumer(`reader-${process.pid}-${Date.now()}`)
    const records = []
    await consumer.connect()
    try {
      await consumer.subscribe({ topics: [topic], fromBeginning: true })
      await new Promise((resolve, reject) => {
        setTimeout(resolve, LIMIT_MS).unref()
        consumer
          .run({
            autoCommit: false,
            eachMessage: async ({ partition, message }) => {
              if (records.push(told(partition, message)) >= count) resolve()
            },
          })
          .catch(reject)
      })
    } finally {
      await consumer.disconnect()
    }
    return records
  },

  // Every batch's records are told, then their offset is committed.
  join: async ({ topic, group, protocol }) => {
    if (protocol !== 'classic') throw new Error(`kafkajs has no group protocol ${protocol}`)
    member = newConsumer(group)
    member.on(member.events.GROUP_JOIN, ({ payload }) =>
      say({ event: 'assigned', partitions: payload.memberAssignment[topic] || [] })
    )
    member.on(member.events.CRASH, ({ payload }) => say({ event: 'member failed', why: String(payload.error) }))
    await member.connect()
    await member.subscribe({ topics: [topic], fromBeginning: true })
    await member.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        say({ event: 'records', records: batch.messages.map(message => told(batch.partition, message)) })
        const offset = String(BigInt(batch.lastOffset()) + 1n)
        await member.commitOffsets([{ topic, partition: batch.partition, offset }])
        say({ event: 'committed' })
      },
    })
    return 'joining'
  },

  leave: async () => {
    if (member) await member.disconnect()
    member = null
    return 'left'
  },

  admin: ({ topic, group }) =>
    withAdmin(async admin => {
      const seen = {}
      const type = ConfigResourceTypes.TOPIC
      const retention = async () => {
        const found = await admin.describeConfigs({ resources: [{ type, name: topic }], includeSynonyms: false })
        return found.resources[0].configEntries.find(entry => entry.configName === 'retention.ms').configValue
      }
      const groups = async () => (await admin.listGroups()).groups.map(each => each.groupId)
      seen.retention = await retention()
      const configEntries = [{ name: 'retention.ms', value: '3600000' }]
      await admin.alterConfigs({ resources: [{ type, name: topic, configEntries }] })
      seen['retention altered'] = await eventually(retention, '3600000')

      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '5' }] })
      const offsets = await admin.fetchTopicOffsets(topic)
      seen.earliest = Number(offsets.find(each => each.partition === 0).low)

      await admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] })
      seen.partitions = await eventually(() => partitionsOf(admin, topic), 5)

      seen['group listed'] = (await groups()).includes(group)
      seen['group state'] = (await admin.describeGroups([group])).groups[0].state
      const held = (await admin.fetchOffsets({ groupId: group, topics: [topic] }))[0].partitions
      seen['group offset'] = Number(held.find(each => each.partition === 0).offset)
      await admin.deleteGroups([group])
      seen['group listed after'] = (await groups()).includes(group)

      await admin.deleteTopics({ topics: [topic] })
      seen['topic listed after'] = await eventually(async () => (await admin.listTopics()).includes(topic), false)
      seen['cluster nodes'] = (await admin.describeCluster()).brokers.length
      return seen
    }),
}

const main = async () => {
  await zstd.init()
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: verb, ...details } = JSON.parse(line)
    try {
      say({ event: 'done', answer: await verbs[verb](details) })
    } catch (failure) {
      say({ event: 'failed', why: String(failure) })
    }
  }
  await verbs.leave()
}

main()
