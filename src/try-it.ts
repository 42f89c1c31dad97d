import { isLoopback, reachableHost } from './config/check.ts'
import type { Config } from './config/config.ts'
import type { DemoCard } from './engine/messages.ts'
import type { Credentials } from './management/client.ts'

/** Where the management API of a demo is, and a client for it; null where none was made. */
export interface DemoApi {
  port: number
  client: Credentials | null
}

/** What to type next, for the configuration and the cards that there are. */
export function demoText(
  config: Config,
  card: DemoCard | null,
  port: number,
  { port: apiPort, client }: DemoApi,
): string {
  const event = eventText(config, card, port)
  return client === null ? event : `${event}\n\nManage it:\n\n${callText(client, config, apiPort)}`
}

/** It leaves the credentials in the shell, for more calls. */
function callText(
  { clientId, clientSecret, uniqueKey }: Credentials,
  { api }: Config,
  apiPort: number,
): string {
  const variables = {
    ARBITER_API_URL: `http://${reachableHost(api?.host ?? '')}:${apiPort}`,
    ARBITER_CLIENT_ID: clientId,
    ARBITER_CLIENT_SECRET: clientSecret,
    ARBITER_UNIQUE_KEY: uniqueKey,
  }
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  return `export ${settings.join(' ')}; npm run -s arbiter -- api GET /wallets`
}

function eventText(config: Config, card: DemoCard | null, port: number): string {
  if (config.relayProfile !== 'default') {
    return `It speaks the shape of the profile ${config.relayProfile}: send it an event of that shape with\n\nnpm run -s arbiter -- relay fire --file event.json`
  }
  if (card === null) {
    return 'The store has no cards: import some with\n\nnpm run -s arbiter -- import cards.ndjson'
  }
  const { mode } = config.relayAuthentication
  if (mode === 'none' && config.tls === null) return `Try it:\n\n${curl(config, card, port)}`
  const certificate = mode === 'mtls' ? ' --cert CLIENT.pem --key CLIENT.key' : ''
  const fire = `npm run -s arbiter -- relay fire --card ${card.cardId} --currency ${card.currency} --amount 12`
  return `Try it, with the same variables set:\n\n${fire}${certificate}`
}

function curl({ host }: Config, { cardId, currency }: DemoCard, port: number): string {
  const event = {
    eventId: 'evt-1',
    requestType: 'Authorization',
    transactionId: 'txn-1',
    cardId,
    amount: currency === 'USD' ? 12.5 : 12,
    currency,
    merchant: { mid: 'MID1', mcc: '5411', name: 'Shop', city: 'Lagos', country: 'NG' },
    occurredAt: '2026-11-14T10:00:00Z',
  }
  const name = isLoopback(host) ? 'localhost' : reachableHost(host)
  const url = `http://${name}:${port}/authorize`
  return `curl -s ${url} -H 'content-type: application/json' -d '${JSON.stringify(event)}'`
}

/** To people, who may be gone, as behind `| head`: a server goes on without them. */
export function sayAside(text: string): void {
  process.stderr.on('error', () => {}).write(text)
}
