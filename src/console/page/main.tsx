import { signal } from '@preact/signals'
import { type ComponentType, render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ActDialog, DoneLine, findFocus } from './act.tsx'
import { followLinks, goTo, path } from './address.ts'
import { postData } from './ask.ts'
import { KeysDialog, listenToKeys } from './keys.tsx'
import { loadWho, now, staleSeconds, stopListening, subscribe, who } from './live.ts'
import { LoginPage } from './login.tsx'
import { Empty } from './parts.tsx'

/** Loaded when they are gone to: nobody waits for the scripts of a page that is not shown. */
const pages = [
  page('/', 'Now', /^\/$/, async () => (await import('./view/now.tsx')).NowPage),
  page('/decisions', 'Decisions', /^\/decisions$/, async () => {
    return (await import('./view/decisions.tsx')).DecisionsPage
  }),
  page('/find', 'Find', /^\/find$/, async () => (await import('./view/find.tsx')).FindPage),
  page('/todo', 'To do', /^\/todo$/, async () => (await import('./view/todo.tsx')).TodoPage),
  page('/rules', 'Rules', /^\/rules$/, async () => (await import('./view/rules.tsx')).RulesPage),
  page('/changes', 'Changes', /^\/changes$/, async () => {
    return (await import('./view/changes.tsx')).ChangesPage
  }),
  page('', 'Decision', /^\/decision\//, async () => {
    return (await import('./view/decision.tsx')).DecisionPage
  }),
  page('', 'Card', /^\/card\//, async () => (await import('./view/card.tsx')).CardPage),
  page('', 'Account', /^\/account\//, async () => {
    return (await import('./view/account.tsx')).AccountPage
  }),
  page('', 'Transaction', /^\/transaction\//, async () => {
    return (await import('./view/transaction.tsx')).TransactionPage
  }),
]

function page(href: string, name: string, pattern: RegExp, load: () => Promise<ComponentType>) {
  return { href, name, pattern, load }
}

const loaded = signal<ReadonlyMap<string, ComponentType>>(new Map())

async function loadPage({ name, load }: (typeof pages)[number]): Promise<void> {
  if (loaded.value.has(name)) return
  const component = await load()
  loaded.value = new Map([...loaded.value, [name, component]])
}

const failure = signal('')

function App() {
  const at = path.value
  const current = pages.find(({ pattern }) => pattern.test(at))
  useEffect(() => {
    document.title = current?.name ? `${current.name} · Arbiter` : 'Arbiter'
  }, [current])
  useEffect(() => {
    // Who has logged out, and goes back in the browser, comes to a page without having logged in.
    if (at !== '/login' && who.value === null) void findWho()
  }, [at])
  useEffect(() => {
    // The page of decisions listens with its filters; every other one only to the figures.
    if (at !== '/decisions' && at !== '/login' && who.value !== null) subscribe('', () => {})
  }, [at, who.value])
  useEffect(() => {
    if (current !== undefined) void loadPage(current)
  }, [current])
  const shown = useRef(at)
  useEffect(() => {
    if (shown.current !== at) findFocus()
    shown.current = at
  }, [at])
  if (at === '/login') return <LoginPage />
  if (who.value === null) {
    return failure.value === '' ? null : <p class="error">{failure.value}</p>
  }
  const Page = loaded.value.get(current?.name ?? '')
  return (
    <>
      <a class="skip" href="#main">
        To the content
      </a>
      <TopBar at={at} />
      <StaleLine />
      <main id="main" tabIndex={-1}>
        <DoneLine />
        {current === undefined && (
          <>
            <h1 class="hidden">No page</h1>
            <Empty>There is no such page.</Empty>
          </>
        )}
        {Page !== undefined && <Page key={at} />}
      </main>
      <KeysDialog />
      <ActDialog />
    </>
  )
}

/** Counting ends at a thousand of each kind, and a phone has no room for more. */
function badgeText(waiting: number): string {
  return waiting > 999 ? '999+' : String(waiting)
}

function TopBar({ at }: { at: string }) {
  const person = who.value!
  const shown = now.value
  const waiting = shown === null ? 0 : shown.gauges.unmatched + shown.gauges.anomalies
  return (
    <header class="top">
      <a class="brand" href="/">
        <img src="/icon.svg" alt="" width="22" height="22" />
        Arbiter
      </a>
      <nav aria-label="Pages">
        {pages
          .filter(({ href }) => href !== '')
          .map(({ href, name, pattern }) => (
            <a href={href} aria-current={pattern.test(at) ? 'page' : undefined}>
              {name}
              {name === 'To do' && waiting > 0 && (
                <span class="badge num">{badgeText(waiting)}</span>
              )}
            </a>
          ))}
      </nav>
      <div class="who">
        {shown !== null && (
          <a
            href="/"
            class={`dot ${shown.health.sentence === '' ? 'well' : 'ill'}`}
            title={shown.health.sentence}
          >
            {shown.health.sentence === '' ? 'well' : 'trouble, see Now'}
          </a>
        )}
        <span class="faint">
          {person.name}, {person.role}
        </span>
        {person.loggedIn && (
          <button type="button" class="quiet" onClick={logOut}>
            Log out
          </button>
        )}
      </div>
    </header>
  )
}

async function logOut(): Promise<void> {
  await postData('/logout', {}).catch(() => {})
  stopListening()
  who.value = null
  goTo('/login')
}

function StaleLine() {
  if (staleSeconds.value === 0) return null
  return (
    <p class="stale" role="status">
      Nothing was heard from the server for {staleSeconds.value} s. What you see is old; this page
      connects again by itself.
    </p>
  )
}

async function findWho(): Promise<void> {
  await loadWho().catch((error: Error) => {
    failure.value = error.message
  })
}

async function start(): Promise<void> {
  followLinks()
  listenToKeys()
  if (path.value !== '/login') await findWho()
  const place = document.getElementById('app')!
  place.replaceChildren()
  render(<App />, place)
}

void start()
