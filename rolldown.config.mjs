import { defineConfig } from 'rolldown'

/** What is started as a process or a thread, by its place below src. */
const entries = [
  'main',
  'cli/main',
  'engine/worker',
  'rules/load/loader',
  'api/worker',
  'console/worker',
  'seeding/worker',
  'backtest/worker',
]

/**
 * It finds the folder of the program by its own place, so it stays the file that the compiler wrote; package.json
 * says where that is.
 */
const apart = {
  name: 'apart',
  resolveId(source) {
    return source.endsWith('/installation.ts') ? { id: '#installation', external: true } : null
  },
}

/**
 * Writes the entries in dist anew, each with all that it imports at its start: a thousand files take Node longer to find
 * and link. Threads share no modules, so parts in common would only be more files: with them a start takes 0.86 s of a
 * processor, without them 0.73 s (2026-11-17, medians of six in turns, Neoverse-N1).
 */
export default entries.map((name) =>
  defineConfig({
    input: { [name]: `src/${name}.ts` },
    platform: 'node',
    // The first loads a binary beside its own files; the others Fastify would load for what we do not ask it for.
    external: [
      'lmdb',
      '@fastify/ajv-compiler',
      '@fastify/fast-json-stringify-compiler',
      'light-my-request',
    ],
    plugins: [apart],
    output: {
      dir: 'dist',
      format: 'esm',
      entryFileNames: '[name].js',
      // What is imported later, if at all.
      chunkFileNames: 'part-[hash].js',
      sourcemap: true,
    },
  }),
)
