import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser } from '../support/browser.ts'
import { type ConsoleWorld, startConsoleServer } from '../support/console-world.ts'
import { temporaryFolder } from '../support/server.ts'

const folder = temporaryFolder()
const operators = join(folder.path, 'operators')
const password = 'alice has a password'
let world: ConsoleWorld
let browser: Browser
let page: Page

beforeAll(async () => {
  const command = ['dist/cli/main.js', 'console', 'user', 'add', 'alice', '--role', 'operator']
  execFileSync(process.execPath, [...command, '--password-stdin'], {
    env: { PATH: process.env.PATH ?? '', CONSOLE_OPERATORS_FILE: operators },
    input: `${password}\n`,
  })
  const dataDir = join(folder.path, 'data')
  ;[world, browser] = await Promise.all([
    startConsoleServer({ dataDir, env: { CONSOLE_OPERATORS_FILE: operators }, args: ['--demo'] }),
    launchBrowser(),
  ])
  page = await browser.newPage({ baseURL: world.url })
  page.setDefaultTimeout(8_000)
})

afterAll(async () => {
  await browser.close()
  await world.server.stop()
  folder.remove()
})

async function logIn(to: string): Promise<void> {
  await page.goto(`/login?to=${encodeURIComponent(to)}`)
  await page.getByLabel('Name').fill('alice')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('button', { name: 'Log out' }).waitFor()
}

describe('who logs in', () => {
  it.each([
    ['/find?q=card-1', '/find?q=card-1'],
    ['//elsewhere.example/', '/'],
    ['/\\elsewhere.example/', '/'],
    ['javascript:alert(1)', '/'],
    ['http://', '/'],
  ])('by a link to %s comes to %s', async (to, target) => {
    await logIn(to)
    expect(page.url()).toBe(world.url + target)
  })
})

describe('who is no longer logged in', () => {
  it('is led to the login from a page that only listens, and back', async () => {
    await logIn('/')
    await page.getByText('Answers a second').first().waitFor()
    const users = readFileSync(operators, 'utf8')
    writeFileSync(operators, users.replace('alice:', 'bob:'))
    await page.waitForURL('**/login?to=%2F')
    writeFileSync(operators, users)
    await logIn('/')
    await page.getByText('Answers a second').first().waitFor()
  })

  it('finds what was typed into a form again after the login', async () => {
    await logIn('/card/card-1')
    await page.getByRole('button', { name: 'Adjust' }).click()
    await page.getByLabel('Amount').fill('12.50')
    await page.getByLabel('Reason').fill('case 4711')
    const users = readFileSync(operators, 'utf8')
    writeFileSync(operators, users.replace('alice:', 'bob:'))
    await page.waitForURL('**/login?to=%2Fcard%2Fcard-1')
    await page.getByText('Your session has ended').waitFor()
    await page.locator('input[autocomplete=username]:focus').waitFor()
    writeFileSync(operators, users)
    await page.getByLabel('Name').fill('alice')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByLabel('Amount').waitFor()
    expect(await page.getByLabel('Amount').inputValue()).toBe('12.50')
    expect(await page.getByLabel('Reason').inputValue()).toBe('case 4711')
    await page.getByRole('dialog').getByRole('button', { name: 'Adjust' }).click()
    await page.getByText('Adjust: done.').waitFor()
  })

  it('is led to the login also by going back in the browser', async () => {
    await logIn('/changes')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.waitForURL('**/login')
    await page.goBack()
    await page.waitForURL('**/login?to=%2Fchanges')
    await page.getByLabel('Password').waitFor()
  })
})
