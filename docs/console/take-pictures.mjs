// Takes the pictures of this folder: npm run pictures. It starts a server of its own in a temporary folder, sends it
// traffic for a while, and looks at it with Chromium.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'

const root = join(import.meta.dirname, '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'arbiter-'))
const seconds = Number(process.argv[2] ?? 90)
const env = {
  ...process.env,
  PORT: '18480',
  ADMIN_PORT: '18481',
  API_PORT: '18482',
  CONSOLE_PORT: '18483',
  SANDBOX: 'true',
  DATA_DIR: join(folder, 'data'),
  RULES_DIR: join(root, 'rules'),
}
const maxRestlessSeconds = 180
const url = `http://localhost:${env.CONSOLE_PORT}`
const command = (...words) => [join(root, 'dist/cli/main.js'), ...words]

async function serving() {
  while ((await fetch(`${url}/data/who`).catch(() => null)) === null) await sleep(200)
}

/** Cards that look like cards, the same each time. */
function writeCards() {
  const rows = Array.from({ length: 400 }, (_, i) => {
    const id = ((i * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, '0')
    const currency = ['USD', 'EUR', 'GBP'][i % 3]
    return JSON.stringify({
      cardId: `crd_${id}`,
      customerId: `cus_${id.split('').reverse().join('')}`,
      accountId: `acc_${id}`,
      type: 'retail',
      status: i % 60 === 7 ? 'Frozen' : 'Active',
      currency,
      country: { USD: 'US', EUR: 'DE', GBP: 'GB' }[currency],
      balance: `${900 + ((i * 37) % 8_000)}.${String((i * 13) % 100).padStart(2, '0')}`,
      cardLimits: { dailyLimit: '1500.00', transactionLimit: '400.00' },
      blackListedMccs: i % 2 === 0 ? ['7995'] : [],
      blackListedMids: [],
    })
  })
  const file = join(folder, 'cards.ndjson')
  writeFileSync(file, `${rows.join('\n')}\n`)
  return file
}

/** Pictures show a server that is well: a machine that was busy a minute ago says so for a minute. */
async function calm() {
  for (let waited = 0; ; waited++) {
    const { now } = await (await fetch(`${url}/data/now`)).json()
    if (now?.health.sentence === '') return
    if (waited === maxRestlessSeconds)
      throw new Error(`it does not get calm: ${now?.health.sentence}`)
    await sleep(1_000)
  }
}

async function take(browser, name, path, { scheme = 'light', width = 1440, height = 900 } = {}) {
  const viewport = { width, height }
  const page = await browser.newPage({ viewport, colorScheme: scheme })
  await page.goto(url + path)
  await page.waitForTimeout(2_500)
  await calm()
  await page.screenshot({ path: join(import.meta.dirname, `${name}.png`) })
  await page.close()
}

async function firstDecision(query, isWanted = ({ totalMs }) => totalMs !== null) {
  const { rows } = await (await fetch(`${url}/data/decisions?${query}`)).json()
  return rows.find(isWanted) ?? rows[0]
}

function start(words) {
  return spawn(process.execPath, words, { env, stdio: 'ignore' })
}

const server = start([join(root, 'dist/main.js'), '--demo'])
let traffic = null
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
try {
  await serving()
  spawnSync(process.execPath, command('import', writeCards()), { env, stdio: 'inherit' })
  const reason = ['--for', '2h', '--reason', 'card testing, case 4711']
  spawnSync(process.execPath, command('block', 'mid', 'MID-4711', ...reason), { env })
  const relay = ['relay', 'run', '--rate', '14', '--cards', '400', '--seconds', '600']
  traffic = start(command(...relay))
  await sleep(seconds * 1_000)
  await take(browser, 'now', '/')
  await take(browser, 'now-dark', '/', { scheme: 'dark' })
  await take(browser, 'now-narrow', '/', { width: 390, height: 844 })
  await take(browser, 'decisions', '/decisions')
  const declined = await firstDecision('rule=high-risk-merchant&outcome=declined')
  const shown = declined ?? (await firstDecision('outcome=declined'))
  await take(browser, 'decision', `/decision/${shown.cursor}`, { height: 1_100 })
  const isCapture = ({ requestType }) => requestType === 'Settlement'
  const { cardId, transactionId } = await firstDecision('outcome=approved', isCapture)
  await take(browser, 'card', `/card/${cardId}`)
  await take(browser, 'transaction', `/transaction/${cardId}/${transactionId}`, { height: 560 })
  await take(browser, 'to-do', '/todo')
  await take(browser, 'rules', '/rules')
} finally {
  traffic?.kill('SIGKILL')
  server.kill('SIGKILL')
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
}
