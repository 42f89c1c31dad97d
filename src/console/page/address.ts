import { computed, signal } from '@preact/signals'
import { partOf } from './page-path.ts'

/** The address of the page, as the browser shows it. */
export const pageUrl = signal(new URL(location.href))
export const path = computed(() => pageUrl.value.pathname)

export function goTo(target: string, replace = false): void {
  if (replace) history.replaceState(null, '', target)
  else history.pushState(null, '', target)
  const before = pageUrl.value.pathname
  pageUrl.value = new URL(location.href)
  if (!replace && before !== pageUrl.value.pathname) scrollTo(0, 0)
}

/** Links within the console change the page without loading it again. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    pageUrl.value = new URL(location.href)
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = (event.target as Element | null)?.closest?.('a')
    if (!link || link.origin !== location.origin || link.target !== '' || link.download) return
    if (link.pathname.startsWith('/reports/')) return
    const target = link.pathname + link.search
    // Within the page the browser goes there by itself.
    if (link.hash !== '' && target === location.pathname + location.search) return
    event.preventDefault()
    goTo(target + link.hash)
  })
}

/** The address of the same page with other parameters; what is '' is left out. */
export function withParameters(changes: Readonly<Record<string, string>>): string {
  const next = new URL(pageUrl.value)
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') next.searchParams.delete(name)
    else next.searchParams.set(name, value)
  }
  return next.pathname + next.search
}

/** The parts of the path behind its first one, as they were before they were written into it. */
export function pathParts(): string[] {
  return path.value.split('/').slice(2).map(partOf)
}
