import { signal } from '@preact/signals'
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { ActDialog, DoneLine } from './act.tsx'
import { followLinks, goTo, path } from './address.ts'
import { postData } from './ask.ts'
import { KeysDialog, listenToKeys } from './keys.tsx'
import { loadWho, now, staleSeconds, stopListening, subscribe, who } from './live.ts'
import { LoginPage } from './login.tsx'
import { Empty } from './parts.tsx'
import { AccountPage } from './view/account.tsx'
import { CardPage } from './view/card.tsx'
import { ChangesPage } from './view/changes.tsx'
import { DecisionPage } from './view/decision.tsx'
import { DecisionsPage } from './view/decisions.tsx'
import { FindPage } from './view/find.tsx'
import { NowPage } from './view/now.tsx'
import { RulesPage } from './view/rules.tsx'
import { TodoPage } from './view/todo.tsx'
import { TransactionPage } from './view/transaction.tsx'

const pages = [
  { href: '/', name: 'Now', pattern: /^\/$/, page: NowPage },
  { href: '/decisions', name: 'Decisions', pattern: /^\/decisions$/, page: DecisionsPage },
  { href: '/find', name: 'Find', pattern: /^\/find$/, page: FindPage },
  { href: '/todo', name: 'To do', pattern: /^\/todo$/, page: TodoPage },
  { href: '/rules', name: 'Rules', pattern: /^\/rules$/, page: RulesPage },
  { href: '/changes', name: 'Changes', pattern: /^\/changes$/, page: ChangesPage },
  { href: '', name: 'Decision', pattern: /^\/decision\//, page: DecisionPage },
  { href: '', name: 'Card', pattern: /^\/card\//, page: CardPage },
  { href: '', name: 'Account', pattern: /^\/account\//, page: AccountPage },
  { href: '', name: 'Transaction', pattern: /^\/transaction\//, page: TransactionPage },
]

const failure = signal('')

function App() {
  const at = path.value
  const current = pages.find(({ pattern }) => pattern.test(at))
  useEffect(() => {
    document.title = current?.name ? `${current.name} · Arbiter` : 'Arbiter'
  }, [current])
  useEffect(() => {
    // The page of decisions listens with its filters; every other one only to the figures.
    if (at !== '/decisions' && at !== '/login' && who.value !== null) subscribe('', () => {})
  }, [at, who.value])
  if (at === '/login') return <LoginPage />
  if (who.value === null) {
    return failure.value === '' ? null : <p class="error">{failure.value}</p>
  }
  const Page = current?.page
  return (
    <>
      <a class="skip" href="#main">
        To the content
      </a>
      <TopBar at={at} />
      <StaleLine />
      <main id="main" tabIndex={-1}>
        <DoneLine />
        {Page === undefined ? <Empty>There is no such page.</Empty> : <Page key={at} />}
      </main>
      <KeysDialog />
      <ActDialog />
    </>
  )
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
              {name === 'To do' && waiting > 0 && <span class="badge num">{waiting}</span>}
            </a>
          ))}
      </nav>
      <div class="who">
        {shown !== null && (
          <span class={`dot ${shown.health.sentence === '' ? 'well' : 'ill'}`}>
            {shown.health.sentence === '' ? 'well' : 'look at Now'}
          </span>
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

async function start(): Promise<void> {
  followLinks()
  listenToKeys()
  if (path.value !== '/login') {
    await loadWho().catch((error: Error) => {
      failure.value = error.message
    })
  }
  const place = document.getElementById('app')!
  place.replaceChildren()
  render(<App />, place)
}

void start()
