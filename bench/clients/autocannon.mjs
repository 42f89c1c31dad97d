/**
 * The closed-loop client, in a process of its own: autocannon, each connection with a list of events
 * that no other has, every answer compared with the one that is due.
 */
import autocannon from 'autocannon'
import { rulesOf } from '../support/rulebook.mjs'
import { judge, makeEvents } from '../support/traffic.mjs'

process.once('message', async (job) => {
  for (const phase of makePhases(job)) {
    process.send({ type: 'ready', name: phase.name })
    await new Promise((resolve) => process.once('message', resolve))
    process.send({ type: 'driven', name: phase.name, result: await drive(job, phase) })
  }
})
process.on('disconnect', () => process.exit(0))

/** By number and not by time: a compiler that is not done yet would be measured instead. */
function makePhases({ run, connections, warmCount, count, cards, rules, constant }) {
  const ruleList = rulesOf(rules)
  return [
    ['warm', warmCount],
    ['measured', count],
  ].map(([name, most]) => {
    const whole = Math.ceil(most / connections) * connections
    const options = { run: `${run}${name[0]}`, count: whole, cards, rules: ruleList, constant }
    return { name, events: makeEvents(options) }
  })
}

function drive({ port, connections, maxSeconds }, { events }) {
  const tally = { answered: 0, right: 0, defaults: 0, wrong: 0, firstWrong: '' }
  const each = events.length / connections
  let clients = 0
  let first
  let lastMs = 0
  const note = (expected, status, body) => {
    lastMs = performance.now()
    // The requests are built before the first one goes out, which is no part of the load.
    first ??= { ms: lastMs, cpu: process.cpuUsage() }
    tally.answered++
    const verdict = judge(expected, status, body)
    if (verdict === '') tally.right++
    else if (verdict === 'default') tally.defaults++
    else {
      tally.wrong++
      tally.firstWrong ||= verdict
    }
  }
  const headers = { 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const instance = autocannon(
      {
        url: `http://127.0.0.1:${port}/authorize`,
        method: 'POST',
        connections,
        amount: events.length,
        timeout: 10,
        setupClient(client) {
          const own = events.slice(clients * each, ++clients * each)
          client.setRequests(
            own.map((expected) => ({
              method: 'POST',
              headers: { ...headers, 'relay-signature': expected.signature },
              body: expected.body,
              onResponse: (status, body) => note(expected, status, body),
            })),
          )
        },
      },
      (error, result) => {
        clearTimeout(tooLong)
        if (error) return reject(error)
        if (first === undefined) return reject(new Error('nothing was answered'))
        const { user, system } = process.cpuUsage(first.cpu)
        const elapsedS = (lastMs - first.ms) / 1_000
        resolve({
          ...tally,
          errors: result.errors,
          timeouts: result.timeouts,
          perSecond: tally.answered / elapsedS,
          latencyMs: { p50: result.latency.p50, p99: result.latency.p99, max: result.latency.max },
          clientUs: (user + system) / tally.answered,
          clientBusy: (user + system) / 1e6 / elapsedS,
        })
      },
    )
    const tooLong = setTimeout(() => instance.stop(), maxSeconds * 1_000)
    instance.on('error', reject)
  })
}
