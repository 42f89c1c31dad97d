import { useEffect, useState } from 'preact/hooks'
import { goTo } from './address.ts'

/** What the server says when it does not do something. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

async function call<T>(url: string, options: RequestInit): Promise<T> {
  let response: Response
  try {
    response = await fetch(url, options)
  } catch {
    throw new Refusal(0, 'The server cannot be reached. What you typed is still here; try again.')
  }
  const body = await response.json().catch(() => ({}))
  if (response.ok) return body as T
  if (response.status === 401 && location.pathname !== '/login') {
    goTo(`/login?to=${encodeURIComponent(location.pathname + location.search)}`)
  }
  throw new Refusal(response.status, sentence((body as { error?: string }).error ?? 'failed'))
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}

export function getData<T>(url: string): Promise<T> {
  return call(url, { headers: { accept: 'application/json' } })
}

export function postData<T>(url: string, body: unknown): Promise<T> {
  return call(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

export interface Asked<T> {
  readonly data: T | null
  readonly error: string
  /** It takes longer than one likes to wait without being told. */
  readonly slow: boolean
  again(): void
}

const slowMs = 300

/** Asks the server for what a page shows; what was shown before stays until there is something new. */
export function useData<T>(url: string | null): Asked<T> {
  const [state, setState] = useState<{ url: string | null; data: T | null; error: string }>({
    url: null,
    data: null,
    error: '',
  })
  const [slow, setSlow] = useState(false)
  const [round, setRound] = useState(0)
  useEffect(() => {
    if (url === null) return
    let wanted = true
    const timer = setTimeout(() => setSlow(true), slowMs)
    getData<T>(url)
      .then(
        (data) => wanted && setState({ url, data, error: '' }),
        (error: Error) => wanted && setState((was) => ({ ...was, url, error: error.message })),
      )
      .finally(() => {
        clearTimeout(timer)
        if (wanted) setSlow(false)
      })
    return () => {
      wanted = false
      clearTimeout(timer)
    }
  }, [url, round])
  const data = state.url === url ? state.data : null
  return { data, error: state.error, slow, again: () => setRound(round + 1) }
}

/** Sends what a form has; what goes wrong is said there, and what was typed stays. */
export function useSubmit(send: () => Promise<void>) {
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    setBusy(true)
    setError('')
    try {
      await send()
    } catch (refusal) {
      setError((refusal as Error).message)
    } finally {
      setBusy(false)
    }
  }
  return { error, busy, submit }
}
