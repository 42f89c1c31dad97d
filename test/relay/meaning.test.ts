import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { meanings, usualMeaning } from '../../src/relay/belief.ts'
import { seedCards } from '../support/ledger-check.ts'
import { fastFolder, plainPack, startServer, usualBudget } from '../support/server.ts'
import { auditStore, simulate } from '../support/simulated.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

describe('the audit of traffic', () => {
  it('finds each switch of the pack that is not what the network means, and no other', async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    const cards = await seedCards(folder.path, Array(40).fill('1000000.00'))
    const rulesDir = join(folder.path, 'rules')
    cpSync(plainPack, rulesDir, { recursive: true })
    const pack = readFileSync(join(rulesDir, 'pack.yaml'), 'utf8')
    const server = await startServer({
      dataDir: folder.path,
      env: { ...usualBudget, RULES_DIR: rulesDir },
    })
    endings.push(server.kill)

    let run = 0
    for (const name of Object.keys(meanings) as (keyof typeof meanings)[]) {
      const values = meanings[name]
      for (const ofServer of values) {
        const line = `${name}: ${values[0]}`
        expect(pack).toContain(line)
        writeFileSync(join(rulesDir, 'pack.yaml'), pack.replace(line, `${name}: ${ofServer}`))
        await fetch(`${server.adminUrl}/admin/rules/reload`, { method: 'POST' })
        for (const ofNetwork of values) {
          // The usual pack and the usual network meet for the first name, and are no others for the next.
          if (run > 0 && ofServer === values[0] && ofNetwork === values[0]) continue
          const meaning = { ...usualMeaning, [name]: ofNetwork }
          const seed = ++run
          const traffic = simulate({ cardIds: cards, seed, runId: `r${run}`, meaning }, server.url)
          const believed = await traffic.run()
          traffic.close()
          const { differences } = await auditStore(folder.path, believed, meaning)
          const told = `${name}: server ${ofServer}, network ${ofNetwork}, seed ${seed}`
          expect(differences.length > 0, told).toBe(ofServer !== ofNetwork)
          for (const { kind } of differences) {
            expect(['phantom hold', 'missing hold', 'wrong amount'], told).toContain(kind)
          }
        }
      }
    }
  }, 60_000)
})
