import { answerDelivery } from '../../dist/domain/decide/answer.js'
import { decideBatch } from '../../dist/engine/batch.js'

/**
 * Decides one item after the other as an engine does whose memory has the account, and gives the command of each. What
 * it would look for in its store is not there.
 */
export function createDecider(cache, pack) {
  let versions = 0
  const newVersion = () => `bench.${versions++}`
  return (cached, item, nowMs) => {
    const context = { pack, nowMs, newVersion, answerDelivery, mayLose: false }
    let batch = decideBatch(cached, [item], context)
    while (batch.wanted.length > 0) {
      for (const { keys, fill } of batch.wanted) fill(keys.map(() => undefined))
      batch = decideBatch(cached, [item], context)
    }
    cached.version = batch.command.newVersion
    cache.settle(cached)
    return batch.command
  }
}
