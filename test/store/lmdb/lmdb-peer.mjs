import { createInterface } from 'node:readline'
import { openLmdbStore } from '../../../dist/store/lmdb/lmdb.js'

// Another process on the same folder, as the CLI is beside the server. Its clock is off by argv[3] ms.
const [folder, clockOffsetMs] = process.argv.slice(2)
const store = await openLmdbStore({ folder, nowMs: () => Date.now() + Number(clockOffsetMs) })
const rootOf = async (aggregate) => (await store.load([{ aggregate, group: '', id: '' }]))[0]

async function increment(aggregate, times) {
  for (let done = 0, attempt = 0; done < times; attempt++) {
    const root = await rootOf(aggregate)
    const count = Number(root?.value ?? 0) + 1
    const [outcome] = await store.commit([
      {
        aggregate,
        expectedVersion: root?.version ?? null,
        newVersion: `${process.pid}-${attempt}`,
        root: String(count),
        mustBeAbsent: [],
        put: [],
        remove: [],
        index: [],
        unindex: [],
        log: [`${aggregate} ${count}`],
      },
    ])
    if (outcome === 'committed') done++
  }
}

console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, aggregate, times] = line.split(' ')
  if (verb === 'increment') await increment(aggregate, Number(times))
  console.log((await rootOf(aggregate))?.value ?? 'nothing')
}
await store.close()
