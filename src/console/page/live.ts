import { computed, signal } from '@preact/signals'
import type { LiveDecisions } from '../shape/decision.ts'
import type { NowShown, Second, WhoAmI } from '../shape/now.ts'
import { path } from './address.ts'
import { getData } from './ask.ts'

/** By the clock of the machine that shows the page. */
export function browserMs(): number {
  return Date.now()
}

export const who = signal<WhoAmI | null>(null)
export const now = signal<NowShown | null>(null)
/** The last quarter of an hour, a point for each second. */
export const seconds = signal<readonly Second[]>([])
/** The time at the last message from the server, and the time now, by this browser. */
const heardMs = signal(0)
const tickMs = signal(browserMs())
const keptSeconds = 900
const staleMs = 3_500

/** How many seconds ago the server was heard last; 0 while it is fresh. */
export const staleSeconds = computed(() => {
  if (heardMs.value === 0) return 0
  const silentMs = tickMs.value - heardMs.value
  return silentMs > staleMs ? Math.round(silentMs / 1000) : 0
})

setInterval(() => {
  tickMs.value = browserMs()
}, 1000)

/** Grows each time that the server is listened to anew: what came in meanwhile was not heard. */
export const openings = signal(0)

let source: EventSource | null = null
let listening = ''
let onDecisions: (live: LiveDecisions) => void = () => {}

/** Listens to the server: figures always, decisions while a page wants them. */
export function subscribe(query: string, take: (live: LiveDecisions) => void): void {
  onDecisions = take
  if (source !== null && listening === query && source.readyState !== EventSource.CLOSED) return
  source?.close()
  listening = query
  if (heardMs.value === 0) heardMs.value = browserMs()
  const opened = new EventSource(`/live${query}`)
  source = opened
  opened.addEventListener('now', ({ data }) => {
    const told = JSON.parse(data) as NowShown
    heardMs.value = browserMs()
    tickMs.value = browserMs()
    now.value = told
    seconds.value = [...seconds.value.slice(1 - keptSeconds), told.second]
  })
  opened.addEventListener('decisions', ({ data }) => onDecisions(JSON.parse(data) as LiveDecisions))
  opened.addEventListener('open', () => {
    openings.value++
    void loadHistory()
  })
  opened.addEventListener('error', () => {
    // A browser gives up when it is refused; it comes back by itself only after a lost connection.
    if (opened.readyState === EventSource.CLOSED) setTimeout(() => listenAgain(opened), 2000)
  })
}

async function listenAgain(refused: EventSource): Promise<void> {
  if (source !== refused) return
  // Only this leads whoever is no longer logged in to the login: a stream does not tell why it was refused.
  await loadWho().catch(() => {})
  if (source !== refused) return
  source = null
  if (path.value !== '/login') subscribe(listening, onDecisions)
}

export function stopListening(): void {
  source?.close()
  source = null
}

async function loadHistory(): Promise<void> {
  try {
    const { seconds: past, now: latest } = await getData<{
      seconds: readonly Second[]
      now: NowShown | null
    }>('/data/now')
    seconds.value = past
    if (latest !== null) now.value = latest
  } catch {
    // The page says that it is stale, and tries again.
  }
}

export async function loadWho(): Promise<void> {
  who.value = await getData<WhoAmI>('/data/who')
}
