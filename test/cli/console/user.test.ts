import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { isPassword } from '../../../src/console/password.ts'
import { findUser } from '../../../src/console/users.ts'
import { createCliWorld } from '../../support/cli.ts'

async function openFiles() {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  const files = {
    viewers: join(world.folder, 'viewers'),
    operators: join(world.folder, 'operators'),
  }
  const env = { CONSOLE_VIEWERS_FILE: files.viewers, CONSOLE_OPERATORS_FILE: files.operators }
  const add = (name: string, role: string, password: string) => {
    const words = ['console', 'user', 'add', name, '--role', role, '--password-stdin']
    return world.runWith({ env, input: `${password}\n` }, ...words)
  }
  const logsIn = async (name: string, password: string) => {
    const user = findUser(files, name)
    return user !== null && (await isPassword(password, user.hash)) ? user.role : ''
  }
  return { files, add, logsIn }
}

it('whoever is added can log in by the password, or is refused', async () => {
  const { files, add, logsIn } = await openFiles()
  expect((await add('alice', 'operator', 'the first password')).code).toBe(0)
  expect(await add('alice', 'operator', 'another password')).toMatchObject({
    code: 1,
    err: `arbiter: alice is in ${files.operators} already: remove that line first\n`,
  })
  expect(await add('alice', 'viewer', 'another password')).toMatchObject({
    code: 1,
    err: `arbiter: alice is an operator in ${files.operators}: remove that line first\n`,
  })
  expect(await logsIn('alice', 'the first password')).toBe('operator')
  expect((await add('bob', 'viewer', 'short')).code).toBe(1)
  expect(await add('bob', 'viewer', 'x'.repeat(1_025))).toMatchObject({
    code: 1,
    err: expect.stringContaining('at most 1024 characters'),
  })
  expect((await add('bob', 'viewer', 'x'.repeat(1_024))).code).toBe(0)
  expect(await logsIn('bob', 'x'.repeat(1_024))).toBe('viewer')
  // A viewer may become an operator: that line is the one that counts.
  expect((await add('bob', 'operator', 'a new password')).code).toBe(0)
  expect(await logsIn('bob', 'a new password')).toBe('operator')
})
