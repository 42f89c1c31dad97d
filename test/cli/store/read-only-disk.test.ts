import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { createCliWorld, rowOf } from '../../support/cli.ts'

it('a store whose disk takes no writes is told as that, and not as one to be restored', async () => {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  await world.importRows(rowOf(0))
  const preload = pathToFileURL(join(import.meta.dirname, '../../support/read-only-disk.mjs'))
  const env = { NODE_OPTIONS: `--import=${preload}` }
  const { code, err } = await world.runPiped({ env }, 'show', 'card', 'card-0')
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringMatching(
      /data\.mdb cannot be opened \(EROFS.*\)\. Its disk takes no writes, .* mount it anew; nothing was lost\.\n$/,
    ),
  })
})
