import { createInterface } from 'node:readline'
import { systemClock } from '../../../dist/clock.js'
import { createEngine } from '../../../dist/engine/engine.js'
import { loadPack } from '../../../dist/rules/load/compiler.js'
import { openStore } from '../../../dist/store/open.js'

// A server without its gate: asks 0.01 on a card without end, one after the other, and says on every
// line of standard input how many it asked and what the newest answer was.
const [dataDir, rulesDir, cardId] = process.argv.slice(2)
const store = await openStore({ redis: null, dataDir }, systemClock.nowMs)
const answers = { count: 0, approved: 0, code: '' }
const engine = createEngine({
  store,
  clock: systemClock,
  pack: loadPack(rulesDir, 45),
  nonce: `decider${process.pid}`,
  cacheCards: 1000,
  onAnswer(_slot, { code }) {
    answers.count++
    if (code === '000') answers.approved++
    answers.code = code
    setImmediate(ask)
  },
  onBooked() {},
})

function ask() {
  const id = `e${answers.count}`
  const merchant = { mid: 'MID', mcc: '5411', name: '', city: '', country: 'US' }
  const event = {
    eventId: id,
    requestType: 'Authorization',
    transactionId: id,
    originalTransactionId: '',
    cardId,
    amountMinor: 1,
    currency: 'USD',
    final: null,
    partialApprovalSupported: false,
    merchant,
    channel: '',
    entryMode: '',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: 0,
  }
  engine.deliver({ event, slot: id, receivedAtMs: Date.now(), said: null, mayStillCommit: false })
}

ask()
createInterface({ input: process.stdin }).on('line', () => {
  // The answer after next was decided, from start to end, after the question.
  const wanted = answers.count + 2
  const timer = setInterval(() => {
    if (answers.count < wanted) return
    clearInterval(timer)
    console.log(JSON.stringify(answers))
  }, 1)
})
