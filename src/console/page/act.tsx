import { signal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { postData, useSubmit } from './ask.ts'
import { who } from './live.ts'
import { ErrorLine } from './parts.tsx'

interface ActField {
  readonly name: string
  readonly label: string
  readonly value?: string
  readonly hint?: string
  readonly choices?: readonly (readonly [value: string, label: string])[]
  readonly optional?: boolean
}

/** Something that a person is about to do; it always asks why. */
export interface Act {
  readonly title: string
  readonly says: string
  readonly url: string
  readonly fields?: readonly ActField[]
  readonly danger?: boolean
  body(fields: Readonly<Record<string, string>>, reason: string): unknown
  onDone(): void
}

const current = signal<Act | null>(null)
const said = signal('')
/** What the form has: it outlives a session that ends while somebody types. */
const typed = signal<Typed>({ fields: {}, reason: '' })
let askedBy = ''

interface Typed {
  readonly fields: Readonly<Record<string, string>>
  readonly reason: string
}

function ask(act: Act): void {
  const fields = (act.fields ?? []).map(({ name, value = '' }) => [name, value] as const)
  typed.value = { fields: Object.fromEntries(fields), reason: '' }
  askedBy = who.value?.name ?? ''
  current.value = act
}

/** Operators see the buttons of what can be done; viewers do not. */
export function ActButton({
  label,
  act,
  danger = false,
}: {
  label: string
  act: () => Act
  danger?: boolean
}) {
  const button = useRef<HTMLButtonElement>(null)
  // Before it is gone: what is cleaned up after painting comes too late.
  useLayoutEffect(() => () => keepFocus(button.current), [])
  if (who.value?.role !== 'operator') return null
  return (
    <button ref={button} type="button" class={danger ? 'danger' : ''} onClick={() => ask(act())}>
      {label}
    </button>
  )
}

/** What was done may take its button away; who goes by keys stays in the page, and not before its beginning. */
function keepFocus(going: HTMLElement | null): void {
  if (going !== null && going === document.activeElement) document.getElementById('main')?.focus()
}

/** What had the focus has gone with its page: who goes by keys, or listens, begins with the one that came. */
export function findFocus(): void {
  if (document.activeElement !== document.body) return
  document.getElementById('main')?.focus({ preventScroll: true })
}

/** Says what was done last, for those who look and for those who listen. */
export function DoneLine() {
  return (
    <p class={said.value === '' ? 'hidden' : 'done'} role="status">
      {said.value}
    </p>
  )
}

function forget(): void {
  current.value = null
  findFocus()
}

export function ActDialog() {
  const act = current.value
  // Another person may have logged in since.
  if (act === null || who.value?.name !== askedBy) return null
  return <Form key={act.title} act={act} />
}

function Form({ act }: { act: Act }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const { fields, reason } = typed.value
  const type = (change: Partial<Typed>) => {
    typed.value = { ...typed.value, ...change }
  }
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  // The browser gives the focus back to where it was, which it does not for a dialog that is only taken away.
  const close = () => dialog.current?.close()

  const { error, busy, submit } = useSubmit(async () => {
    const done = await postData<{ changed?: boolean }>(act.url, act.body(fields, reason))
    said.value = done.changed === false ? `${act.title}: it was so already.` : `${act.title}: done.`
    setTimeout(() => {
      said.value = ''
    }, 6_000)
    close()
    act.onDone()
  })

  return (
    <dialog ref={dialog} aria-label={act.title} onClose={forget}>
      <form onSubmit={submit} class="act">
        <h2>{act.title}</h2>
        <p class="faint">{act.says}</p>
        {(act.fields ?? []).map((field) => (
          <Field
            key={field.name}
            field={field}
            value={fields[field.name] ?? ''}
            onValue={(value) => type({ fields: { ...fields, [field.name]: value } })}
          />
        ))}
        <label>
          Reason
          <input
            name="reason"
            required
            maxLength={500}
            value={reason}
            onInput={(event) => type({ reason: event.currentTarget.value })}
          />
        </label>
        <ErrorLine error={error} />
        <div class="buttons">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class={act.danger ? 'danger' : 'primary'} disabled={busy}>
            {busy ? 'Working…' : act.title}
          </button>
        </div>
      </form>
    </dialog>
  )
}

function Field({
  field,
  value,
  onValue,
}: {
  field: ActField
  value: string
  onValue: (value: string) => void
}) {
  const { name, label, hint = '', choices, optional = false } = field
  if (choices === undefined) {
    return (
      <label>
        {label}
        <input
          name={name}
          required={!optional}
          placeholder={hint}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      </label>
    )
  }
  return (
    <label>
      {label}
      <select name={name} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {choices.map(([choice, text]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
