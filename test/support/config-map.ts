import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A folder as Kubernetes mounts a ConfigMap: all files are links through `..data`, which is exchanged. */
export interface ConfigMap {
  readonly path: string
  /** Exchanges all files at once. */
  put(files: Readonly<Record<string, string>>): void
}

export function createConfigMap(path: string): ConfigMap {
  let generation = 0

  function put(files: Readonly<Record<string, string>>): void {
    const old = `..${generation}`
    const name = `..${++generation}`
    for (const [file, text] of Object.entries(files)) {
      const place = join(path, name, file)
      mkdirSync(dirname(place), { recursive: true })
      writeFileSync(place, text)
    }
    symlinkSync(name, join(path, '..data_tmp'))
    renameSync(join(path, '..data_tmp'), join(path, '..data'))
    const there = new Set(readdirSync(path))
    for (const top of new Set(Object.keys(files).map((file) => file.split('/')[0]!))) {
      if (!there.has(top)) symlinkSync(join('..data', top), join(path, top))
    }
    rmSync(join(path, old), { recursive: true, force: true })
  }

  mkdirSync(path, { recursive: true })
  return { path, put }
}
