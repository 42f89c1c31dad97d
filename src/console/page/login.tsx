import { useEffect, useRef, useState } from 'preact/hooks'
import { goTo, pageUrl } from './address.ts'
import { postData, useSubmit } from './ask.ts'
import { loadWho, who } from './live.ts'
import { ErrorLine } from './parts.tsx'

/** Of this console, or its first page: a link that strangers wrote may name any other place. */
function ownAddress(to: string): string {
  const isOwn =
    URL.canParse(to, location.origin) && new URL(to, location.origin).origin === location.origin
  return isOwn ? to : '/'
}

export function LoginPage() {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => first.current?.focus(), [])
  const { error, busy, submit } = useSubmit(async () => {
    await postData('/login', { name, password })
    await loadWho()
    goTo(ownAddress(pageUrl.value.searchParams.get('to') ?? '/'), true)
  })

  return (
    <main class="login">
      <form onSubmit={submit}>
        <img src="/icon.svg" alt="" width="40" height="40" />
        <h1>Arbiter</h1>
        {who.value !== null && (
          <p class="faint" role="status">
            Your session has ended. Log in, and go on where you were.
          </p>
        )}
        <label>
          Name
          <input
            ref={first}
            autocomplete="username"
            required
            maxLength={64}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label>
          Password
          <input
            type="password"
            autocomplete="current-password"
            required
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </label>
        <ErrorLine error={error} />
        <button type="submit" class="primary" disabled={busy}>
          {busy ? 'Working…' : 'Log in'}
        </button>
      </form>
    </main>
  )
}
