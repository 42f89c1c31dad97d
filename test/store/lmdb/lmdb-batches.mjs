/**
 * Numbered batches whose content follows from their number, so that a reader can tell from the newest
 * one what the whole store must hold. Plain JavaScript: it also runs in child processes and workers.
 */

const accounts = 100
const commandsPerBatch = 40

const accountOf = (batch, i) => `account-${(batch * 37 + i) % accounts}`

function previousBatchOf(account, batch) {
  for (let previous = batch - 1; previous > 0; previous--) {
    for (let i = 0; i < commandsPerBatch; i++)
      if (accountOf(previous, i) === account) return previous
  }
  return 0
}

export function commandsOf(batch) {
  return Array.from({ length: commandsPerBatch }, (_, i) => {
    const aggregate = accountOf(batch, i)
    const previous = previousBatchOf(aggregate, batch)
    const event = { group: 'event@99999', id: `event-${batch}` }
    const transaction = { group: 'txn', id: `txn-${batch}` }
    return {
      aggregate,
      expectedVersion: previous === 0 ? null : `v${previous}`,
      newVersion: `v${batch}`,
      root: `root ${batch}`,
      mustBeAbsent: [event, transaction],
      put: [
        { ...event, value: `event ${batch} ${'e'.repeat((batch * 7 + i) % 300)}` },
        { ...transaction, value: `txn ${batch}` },
      ],
      remove: previous === 0 ? [] : [{ group: 'txn', id: `txn-${previous}` }],
      index: [{ index: 'latest', sortKey: `${aggregate}/${batch}`, value: `${batch}` }],
      unindex: previous === 0 ? [] : [{ index: 'latest', sortKey: `${aggregate}/${previous}` }],
      log: [`${batch} ${i}`],
    }
  })
}

export async function newestBatch(store) {
  const [newest] = await store.tailLog(1)
  return newest === undefined ? 0 : Number(newest.entry.split(' ')[0])
}

/** Writes batch after batch until it is ended from outside. */
export async function writeBatches(store, acknowledge) {
  for (let batch = (await newestBatch(store)) + 1; ; batch++) {
    const outcomes = await store.commit(commandsOf(batch))
    if (outcomes.some((outcome) => outcome !== 'committed')) {
      throw new Error(`batch ${batch}: ${outcomes}`)
    }
    acknowledge(batch)
  }
}

/**
 * Throws unless the store holds exactly the batches up to its newest, each of them whole. Children and
 * log are compared from `fromBatch` on: the ones before were compared earlier.
 */
export async function verifyBatches(store, fromBatch) {
  const newest = await newestBatch(store)
  const lastBatchOf = new Map()
  const logLines = await store.tailLog((newest - fromBatch + 1) * commandsPerBatch)
  let line = 0
  for (let batch = 1; batch <= newest; batch++) {
    const commands = commandsOf(batch)
    for (const { aggregate } of commands) lastBatchOf.set(aggregate, batch)
    if (batch < fromBatch) continue
    const loaded = await store.load(
      commands.map(({ aggregate, put }) => ({ aggregate, group: put[0].group, id: put[0].id })),
    )
    commands.forEach(({ put, log }, i) => {
      same(loaded[i]?.value, put[0].value, `event of batch ${batch}`)
      same(logLines[line++]?.entry, log[0], `log of batch ${batch}`)
    })
  }
  same(logLines.length, line, 'length of the log')
  const index = new Map(
    (await store.range('latest', '', 10_000)).map(({ sortKey, value }) => [sortKey, value]),
  )
  same(index.size, lastBatchOf.size, 'size of the index')
  for (let i = 0; i < accounts; i++) {
    const aggregate = `account-${i}`
    const batch = lastBatchOf.get(aggregate)
    const [root, transaction, next] = await store.load([
      { aggregate, group: '', id: '' },
      { aggregate, group: 'txn', id: `txn-${batch}` },
      { aggregate, group: 'event@99999', id: `event-${newest + 1}` },
    ])
    same(root?.value, batch && `root ${batch}`, `root of ${aggregate}`)
    same(root?.version, batch && `v${batch}`, `version of ${aggregate}`)
    same(transaction?.value, batch && `txn ${batch}`, `transaction of ${aggregate}`)
    same(next, undefined, `event of batch ${newest + 1}`)
    if (batch) same(index.get(`${aggregate}/${batch}`), `${batch}`, `index entry of ${aggregate}`)
  }
  return newest
}

function same(actual, expected, what) {
  if (actual !== expected) throw new Error(`${what} is ${actual}, expected ${expected}`)
}
