import { createHash } from 'node:crypto'
import { responseCodes } from '../../domain/record/response-code.ts'
import { type Condition, conditions } from '../condition.ts'
import type { Route } from '../route.ts'
import { type DescribedField, fieldsIn, schemaOf } from './field.ts'
import { callHeaders, ownRefusalsOf, topicOf } from './openapi.ts'

/** A page for people about all routes, with no script and nothing from elsewhere. */
export interface ReferencePage {
  readonly html: string
  /** Lets the page's own style in, and nothing else. */
  readonly contentSecurityPolicy: string
}

const style = `
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #1a1a1a; background: #fff; overflow-wrap: anywhere }
h2 { margin-top: 2.5rem } code { background: #f0f0f0; padding: .1em .3em; border-radius: 3px }
h3 { font-size: 1rem; margin: 1rem 0 .3rem } summary { cursor: pointer; margin-top: .8rem }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .3rem .6rem;
  border-bottom: 1px solid #ddd; vertical-align: top }
dd { margin: 0 0 .5rem 1rem } nav h2 { font-size: 1rem; margin: 1rem 0 0 }
nav ul { margin: 0; padding: 0 } nav li { list-style: none } .method { display: inline-block; width: 4.5rem; font-weight: 600 }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #161616 }
  code { background: #2a2a2a } td, th { border-color: #3a3a3a } a { color: #8ab4ff } }
`

export function referencePageOf(
  routes: readonly Route[],
  prefix: string,
  version: string,
): ReferencePage {
  const topics = [...new Set(routes.map(({ operation }) => topicOf(operation)))]
  const ordered = topics.map((topic) => {
    return routes.filter(({ operation }) => topicOf(operation) === topic)
  })
  const list = ordered.map((some, i) => {
    const items = some.map((route) => linkOf(route, prefix))
    return `<h2>${text(topics[i]!)}</h2><ul>${items.join('')}</ul>`
  })
  const sections = ordered.flat().map((route) => sectionOf(route, prefix))
  const headers = Object.entries(callHeaders).map(([name, says]) => {
    return `<dt><code>${name}</code></dt><dd>${text(says)}</dd>`
  })
  const html = [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width"><title>Arbiter management API</title>',
    `<style>${style}</style></head><body><main><h1>Arbiter management API</h1>`,
    `<p>Version ${text(version)}. The same as OpenAPI 3.1: <a href="openapi.json">openapi.json</a>.`,
    'Every call carries these headers, and <code>Authorization: Bearer</code> with a token that',
    '<code>POST /connect/token</code> gives.</p>',
    `<dl>${headers.join('')}</dl>`,
    `<nav>${list.join('')}</nav>${sections.join('')}</main></body></html>`,
  ].join('\n')
  const hash = createHash('sha256').update(style).digest('base64')
  return {
    html,
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  }
}

function linkOf({ operation, method, path, summary }: Route, prefix: string): string {
  return (
    `<li><a href="#${operation}"><span class="method">${method}</span>` +
    `<code>${prefix}${text(path)}</code></a> ${text(summary)}</li>`
  )
}

function sectionOf(route: Route, prefix: string): string {
  const { operation, method, path, summary, scope } = route
  const given = (['params', 'query', 'body'] as const).map((part) => {
    return fieldTable(places[part], fieldsIn(schemaOf(route[part])))
  })
  const answer = fieldTable('', fieldsIn(schemaOf(route.data)))
  return [
    `<section id="${operation}"><h2>${text(summary)}</h2>`,
    `<p><code>${method} ${prefix}${text(path)}</code>, scope <code>${scope}</code></p>`,
    ...given,
    refusalsOf(ownRefusalsOf(route)),
    answer === '' ? '' : `<details><summary>Data of its answer</summary>${answer}</details>`,
    '</section>',
  ].join('')
}

/** What fields are in, as a title. */
const places = { params: 'Path', query: 'Query', body: 'Body' }

/** '' for none. */
function fieldTable(title: string, fields: readonly DescribedField[]): string {
  const rows = fields.map(({ name, required, type }) => {
    const must = title !== '' && required ? 'required' : ''
    return `<tr><td><code>${text(name)}</code></td><td>${text(type)}</td><td>${must}</td></tr>`
  })
  if (rows.length === 0) return ''
  return `${title === '' ? '' : `<h3>${title}</h3>`}<table>${rows.join('')}</table>`
}

function refusalsOf(refusals: readonly Condition[]): string {
  if (refusals.length === 0) return ''
  const rows = refusals.map((condition) => {
    const { status, code } = conditions[condition]
    return `<tr><td>${status}</td><td>${code}</td><td>${text(responseCodes[code].meaning)}</td></tr>`
  })
  return `<h3>Refusals of its own</h3><table>${rows.join('')}</table>`
}

function text(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
