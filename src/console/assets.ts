import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

export interface Asset {
  readonly type: string
  readonly body: Buffer
  readonly etag: string
}

export interface Assets {
  readonly byPath: ReadonlyMap<string, Asset>
  /** The page around everything, the same for every address. */
  readonly shell: Asset
  readonly contentSecurityPolicy: string
}

const require = createRequire(import.meta.url)

/** The packages that pages import, by the file that browsers read of each. */
function libraryFiles(): readonly (readonly [name: string, file: string])[] {
  const beside = (name: string, file: string) => join(dirname(require.resolve(name)), file)
  return [
    ['preact', require.resolve('preact')],
    ['preact/hooks', require.resolve('preact/hooks')],
    ['preact/jsx-runtime', require.resolve('preact/jsx-runtime')],
    ['@preact/signals', beside('@preact/signals', 'signals.module.js')],
    ['@preact/signals-core', beside('@preact/signals-core', 'signals-core.module.js')],
    ['uplot', beside('uplot', 'uPlot.iife.min.js')],
  ]
}

const scriptType = 'text/javascript; charset=utf-8'
const styleType = 'text/css; charset=utf-8'

/** Everything that browsers load, in memory: what is not here cannot be asked for. */
export function readAssets(pageFolder: string): Assets {
  const byPath = new Map<string, Asset>()
  const imports: Record<string, string> = {}
  for (const [name, file] of libraryFiles()) {
    const path = `/lib/${name.replaceAll('/', '-').replace('@', '')}.js`
    imports[name] = path
    const text = readScript(file)
    // The small build of uPlot is for pages without modules and exports nothing.
    byPath.set(path, assetOf(scriptType, name === 'uplot' ? `${text}\nexport default uPlot` : text))
  }
  for (const name of readdirSync(pageFolder, { recursive: true, encoding: 'utf8' })) {
    const text = () => readScript(join(pageFolder, name))
    const path = `/page/${name.replaceAll('\\', '/')}`
    if (name.endsWith('.js')) byPath.set(path, assetOf(scriptType, text()))
    if (name.endsWith('.css')) byPath.set(path, assetOf(styleType, text()))
  }
  const currencies = join(pageFolder, '../../domain/record/currency.js')
  byPath.set('/domain/record/currency.js', assetOf(scriptType, readScript(currencies)))
  const plotStyle = join(dirname(require.resolve('uplot')), 'uPlot.min.css')
  byPath.set('/lib/uplot.css', assetOf(styleType, readFileSync(plotStyle, 'utf8')))
  byPath.set('/icon.svg', assetOf('image/svg+xml', icon))
  const importMap = JSON.stringify({ imports })
  return {
    byPath,
    shell: assetOf('text/html; charset=utf-8', shellOf(importMap)),
    contentSecurityPolicy: policyOf(importMap),
  }
}

/** Without the name of a map that browsers would ask for. */
function readScript(file: string): string {
  return readFileSync(file, 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, '')
}

function assetOf(type: string, text: string): Asset {
  const body = Buffer.from(text)
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  return { type, body, etag }
}

/** Browsers take no import map from another file, so that this one text is let in by its hash. */
function policyOf(importMap: string): string {
  const hash = createHash('sha256').update(importMap).digest('base64')
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ')
}

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1d4e68"/><path d="M7 23 16 8l9 15" fill="none" stroke="#fff" stroke-width="3" stroke-linejoin="round" stroke-linecap="round"/><path d="M5 18h22" stroke="#e8a33d" stroke-width="2.4" stroke-linecap="round"/></svg>'

function shellOf(importMap: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Arbiter</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/lib/uplot.css">
<link rel="stylesheet" href="/page/style.css">
<script type="importmap">${importMap}</script>
<script type="module" src="/page/main.js"></script>
</head>
<body><div id="app"><p class="loading">Loading…</p></div><noscript>The console needs JavaScript.</noscript></body>
</html>
`
}
