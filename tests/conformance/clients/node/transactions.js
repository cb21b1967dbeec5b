// kafkajs as a transactional program: a JSON command per line of stdin, a JSON event per line of stdout. The commands are
// those of clients/python/transactional.py.
'use strict'

const readline = require('node:readline')
const { Kafka, logLevel } = require('kafkajs')

const LIMIT_MS = 20000
const END = 'end'
const say = event => process.stdout.write(JSON.stringify(event) + '\n')

const kafka = new Kafka({
  clientId: 'conformance',
  brokers: [process.argv[2]],
  logLevel: logLevel.ERROR,
  logCreator: () => ({ namespace, log }) => process.stderr.write(`${namespace}: ${JSON.stringify(log)}\n`),
  retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 20 },
})

let producer = null
let transaction = null

const produce = async (to, topic, records) => {
  const messages = records.map(([partition, value]) => ({ partition, value }))
  const answers = await to.send({ topic, acks: -1, messages })
  // An answer per partition, with its first offset only.
  const next = new Map(answers.map(answer => [answer.partition, Number(answer.baseOffset)]))
  return messages.map(({ partition }) => {
    const offset = next.get(partition)
    next.set(partition, offset + 1)
    return offset
  })
}

// Runs until `enough()`, which is looked at after every batch, or until the time is over.
const consume = async (settings, topic, limitMs, eachBatch, enough) => {
  const consumer = kafka.consumer({ sessionTimeout: 4000, heartbeatInterval: 300, maxWaitTimeInMs: 100, ...settings })
  await consumer.connect()
  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await new Promise((resolve, reject) => {
      setTimeout(resolve, limitMs).unref()
      // It restarts by itself after what may pass, as a coordinator that is still loading.
      consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error))
      const work = async each => {
        await eachBatch(each)
        if (enough()) resolve()
      }
      consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: work }).catch(reject)
    })
  } finally {
    await consumer.disconnect()
  }
}

const verbs = {
  open: async ({ transactional_id: transactionalId, timeout_ms: transactionTimeout }) => {
    producer = kafka.producer({ transactionalId, transactionTimeout, idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    return 'ready'
  },

  begin: async () => {
    transaction = await producer.transaction()
    return 'begun'
  },

  send: ({ topic, records }) => produce(transaction, topic, records),

  commit: async () => {
    await transaction.commit()
    return 'committed'
  },

  abort: async () => {
    await transaction.abort()
    return 'aborted'
  },

  // kafkajs always reads in a group: one of its own per look, whose offsets are never committed.
  look: async ({ topic, partitions, isolation, limit_ms: limitMs }) => {
    const groupId = `looks-${process.pid}-${Date.now()}`
    const found = []
    const eachBatch = async ({ batch, resolveOffset }) => {
      for (const { offset, value } of batch.messages) found.push([batch.partition, Number(offset), value.toString()])
      resolveOffset(batch.lastOffset())
    }
    const enough = () => found.filter(([, , value]) => value === END).length >= partitions
    await consume({ groupId, readUncommitted: isolation === 'uncommitted' }, topic, limitMs, eachBatch, enough)
    return found
  },

  pipe: async ({ source, target, group, protocol, batch: size, plan }) => {
    if (protocol !== 'classic') throw new Error(`kafkajs has no group protocol ${protocol}`)
    let done = 0
    let at = 0
    // One batch holds what a fetch brought of a partition: it is worked off in pieces, an aborted one again.
    const eachBatch = async ({ batch, resolveOffset, heartbeat }) => {
      for (let from = 0; from < batch.messages.length && at < plan.length; await heartbeat()) {
        const step = plan[at++]
        const taken = batch.messages.slice(from, from + size)
        const work = await producer.transaction()
        await produce(work, target, taken.map(({ value }) => [batch.partition, value.toString().toUpperCase()]))
        const offset = String(BigInt(taken[taken.length - 1].offset) + 1n)
        const topics = [{ topic: source, partitions: [{ partition: batch.partition, offset }] }]
        await work.sendOffsets({ consumerGroupId: group, topics })
        if (step === 'halt') {
          say({ event: 'halted' })
          await new Promise(() => setInterval(() => {}, 1000))
        } else if (step === 'abort') {
          await work.abort()
        } else {
          await work.commit()
          done += taken.length
          from += taken.length
          resolveOffset(taken[taken.length - 1].offset)
        }
      }
    }
    await consume({ groupId: group, readUncommitted: false }, source, LIMIT_MS, eachBatch, () => at >= plan.length)
    return done
  },
}

const main = async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: verb, ...details } = JSON.parse(line)
    try {
      say({ event: 'done', answer: await verbs[verb](details) })
    } catch (failure) {
      say({ event: 'failed', why: `${failure}, type ${failure.type || (failure.cause && failure.cause.type)}` })
    }
  }
  process.exit(0)
}

main()
