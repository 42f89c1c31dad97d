/**
 * A client of our own, in a process of its own. Open loop: each event has an intended time, and its
 * latency counts from there, whether or not a connection was free: an answer that comes late delays no
 * event that follows. Closed loop: a number of events at a time. Every answer is compared with what is due.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { rulesOf } from '../support/rulebook.mjs'
import { makeEvents, requestOf } from '../support/traffic.mjs'
import { createConnections } from './connections.mjs'
import { drained, intendedTimes, sendAtTimes } from './intended.mjs'
import { createTally } from './tally.mjs'

const drainMs = 4_000
const relayWaitsS = 0.4
const settleMs = 500

process.on('disconnect', () => process.exit(0))
serve()

async function serve() {
  for (;;) {
    const job = await nextMessage()
    const events = prepare(job)
    process.send({ type: 'ready' })
    await nextMessage()
    const result =
      job.mode === 'open' ? await driveOpen(job, events) : await driveClosed(job, events)
    process.send({ type: 'driven', result })
  }
}

function nextMessage() {
  return new Promise((resolve) => process.once('message', resolve))
}

function prepare({ ports, rules, ...given }) {
  const events = makeEvents({ ...given, rules: rulesOf(rules) })
  return events.map((expected, i) => ({
    ...expected,
    request: requestOf(expected, ports[i % ports.length]),
    port: ports[i % ports.length],
  }))
}

async function driveOpen({ ratePerSecond, maxConnections, ports }, events) {
  const times = intendedTimes(events.length, ratePerSecond)
  const tally = createTally()
  const connections = createConnections({
    maxConnections,
    onAnswer: tally.answered,
    onLost: tally.lost,
  })
  // As many as a relay needs that waits 400 ms for each answer: a busy server is slow to accept new ones.
  const each = Math.ceil(Math.min(maxConnections, ratePerSecond * relayWaitsS) / ports.length)
  for (const port of ports) await connections.open(each, port)
  await sleep(settleMs)
  await sendAtTimes(times, (i, { intendedMs, startedMs, lateMs }) => {
    tally.sent(lateMs)
    connections.send({ expected: events[i], intendedMs, startedMs })
  })
  await drained(connections, performance.now() + drainMs)
  connections.end()
  return tally.result(times.at(-1) / 1_000)
}

async function driveClosed({ outstanding, maxSeconds }, events) {
  const tally = createTally()
  let sent = 0
  const startedMs = performance.now()
  const untilMs = startedMs + maxSeconds * 1_000
  let finish
  const finished = new Promise((resolve) => {
    finish = resolve
  })
  const next = () => {
    const nowMs = performance.now()
    if (sent < events.length && nowMs < untilMs) {
      tally.sent(0)
      connections.send({ expected: events[sent++], intendedMs: nowMs, startedMs })
    } else if (connections.pending === 0) finish()
  }
  const connections = createConnections({
    maxConnections: outstanding,
    onAnswer(sending, status, body, nowMs) {
      tally.answered(sending, status, body, nowMs)
      next()
    },
    onLost(sending, error) {
      tally.lost(sending, error)
      next()
    },
  })
  for (let i = 0; i < outstanding; i++) next()
  await finished
  connections.end()
  return tally.result((performance.now() - startedMs) / 1_000)
}
