import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { goTo } from './address.ts'

const open = signal(false)
/** Set by the page of decisions: Space holds what comes in, and lets it in again. */
export const onPauseKey = signal<(() => void) | null>(null)

const keys = [
  ['/', 'find a card, account, customer, organization, transaction or event'],
  ['j, k', 'the next and the previous line of a list'],
  ['Enter', 'open the line'],
  ['p', 'hold a live list still, and let it go on'],
  ['g then n, d, t, r, c', 'Now, Decisions, To do, Rules, Changes'],
  ['?', 'this'],
  ['Esc', 'close, or leave a field'],
] as const

const goes: Readonly<Record<string, string>> = {
  n: '/',
  d: '/decisions',
  t: '/todo',
  r: '/rules',
  c: '/changes',
}

let going = false

export function listenToKeys(): void {
  document.addEventListener('keydown', (event) => {
    const target = event.target as HTMLElement
    const typing = target.matches('input:not([type=checkbox]), textarea, select')
    if (event.metaKey || event.ctrlKey || event.altKey) return
    // A dialog is about the page under it, and stands above whatever page one would go to.
    if (document.querySelector('dialog[open]') !== null) return
    if (typing) {
      if (event.key === 'Escape') target.blur()
      return
    }
    const handled = handle(event.key)
    if (handled) event.preventDefault()
  })
}

function handle(key: string): boolean {
  if (going) {
    going = false
    const target = goes[key]
    if (target === undefined) return false
    goTo(target)
    return true
  }
  switch (key) {
    case '/':
      goTo('/find')
      return true
    case '?':
      open.value = true
      return true
    case 'g':
      going = true
      return true
    case 'p':
      onPauseKey.value?.()
      return onPauseKey.value !== null
    case 'j':
    case 'k':
      return moveRow(key === 'j' ? 1 : -1)
    default:
      return false
  }
}

/** Lines of lists are links, so that Enter opens the one that has the focus. */
function moveRow(step: number): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')]
  if (rows.length === 0) return false
  const at = rows.indexOf(document.activeElement as HTMLElement)
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))]!
  next.focus()
  next.scrollIntoView({ block: 'nearest' })
  return true
}

export function KeysDialog() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (open.value) dialog.current?.showModal()
  }, [open.value])
  return (
    <dialog ref={dialog} aria-label="Keys" onClose={() => (open.value = false)}>
      <h2>Keys</h2>
      <dl class="rows">
        {keys.map(([key, does]) => (
          <div>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  )
}
