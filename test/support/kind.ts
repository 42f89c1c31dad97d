/** They assert the time of answers: beside another test on two cores they would measure that one. */
const timed = [
  'redis-outage',
  'disturbed-engine',
  'redis-cluster',
  'full-disk',
  'flood',
  'strangers',
  'slow-clients',
].map((name) => `test/server/${name}.test.ts`)

/**
 * Left to `npm run test:all`, which CI runs, so that `npm test` takes five minutes: what is around the server, and
 * what takes long for a property of which `npm test` has a shorter case.
 */
export const leftToAll = [
  'backtest/{memory,test-case}',
  'bench/smoke',
  'cli/{row-file,store/copy}',
  'console/{instances,login,pages}',
  'deploy/{ci,monitoring,redis}',
  'readme',
  'server/{api-alone,disturbed-engine,flood,full-disk,lost-folder,redis-cluster,rules-bundle,slow-clients,transfer-cluster,wrong-clock}',
].map((name) => `test/${name}.test.ts`)

/** They start no process and need nothing built. */
export const pure = [
  'api/{condition,input,signature,token}',
  'backoffice/transfer',
  'backtest/{breaker-trip,counter,fate}',
  'bench/judge',
  'domain/**/*',
  'engine/{aggregates,engine,older-state,protocol}',
  'engine/format/*',
  'engine/memory/{directory,table}',
  'engine/notice/breaker-counts',
  'engine/queue/*',
  'gate/{pace,slots}',
  'http/*',
  'kyc/*',
  'management/**/*',
  'outgoing/*',
  'projection/*',
  'relay/{audit,view}',
  'rules/**/*',
  'telemetry/{api-log,decision-log,mask,refusal-log}',
  'webhook/*',
  'wire/*',
].map((name) => `test/${name}.test.ts`)

/** They start no process either, but serve HTTP in their own, and take longer: no part of the edit loop. */
const inside = ['api/**/*', 'backtest/{equality,snapshot,worlds}', 'seeding/*', 'support/*'].map(
  (name) => `test/${name}.test.ts`,
)

/** How a file of tests stands to others that run beside it. */
export type Kind = 'served' | 'inside' | 'timed'

const insides = [...pure, ...inside].map(patternOf)

/** By its path from the root. */
export function kindOf(path: string): Kind {
  if (timed.includes(path)) return 'timed'
  return insides.some((pattern) => pattern.test(path)) ? 'inside' : 'served'
}

function patternOf(glob: string): RegExp {
  const text = glob
    .replaceAll('.', '\\.')
    .replaceAll('**/*', '.+')
    .replaceAll(/(?<!\.)\*/g, '[^/]+')
    .replaceAll(/\{(.*?)\}/g, (_, names: string) => `(${names.replaceAll(',', '|')})`)
  return new RegExp(`^${text}$`)
}
