import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { listenAt } from '../../listening.ts'
import { onInterrupt } from '../interrupt.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode } from '../terminal.ts'

const help = `
With Redis the management API may run apart from the servers that decide. Its settings are those of a
server: API_PORT and the others that begin with API_, REDIS_URL, SECRETS_KEY.

Example:
  $ API_PORT=8082 REDIS_URL=redis://127.0.0.1:6379 SECRETS_KEY_FILE=/run/secrets/key arbiter api serve`

export function addApiServe(api: Command): void {
  api
    .command('serve')
    .description('Serve the management API alone, on the Redis that the servers share.')
    .addHelpText('after', help)
    .action(() => inSession(serve, { serves: true }))
}

async function serve({ store, config, engine }: Session): Promise<ExitCode> {
  const refused = refusalOf(config)
  if (refused !== '' || config.api === null) {
    complain(refused)
    return 2
  }
  const { createApi } = await import('../../api/api.ts')
  const { readSecretKeys } = await import('../../management/secret-keys.ts')
  const { createLogSink } = await import('../../telemetry/logger.ts')
  const { createApiLog } = await import('../../telemetry/api-log.ts')
  const { createKeptTransfers } = await import('../../management/transfer/kept-transfer.ts')
  const { startProjection } = await import('../../projection/projection.ts')
  const { readVersion } = await import('../../version.ts')
  const sink = createLogSink(config.logLevel)
  const keys = readSecretKeys(config, () => {})
  const { createOutside } = await import('../../api/outside/outside.ts')
  const { sandbox, webhookRetentionDays } = config
  const own = { keys, sandbox, webhookRetentionDays, relay: null, version: readVersion() }
  const settings = { ...config.api, ...own }
  const onTrouble = (message: string) => sink.logger.error(message)
  const kept = createKeptTransfers({ monoMs: systemClock.monoMs, onTrouble })
  const working = await engine({
    onLoss() {
      kept.onLoss()
      // No delivery was told here: with that the store may be committed to again.
      working.recall([], true)
    },
    onCheckpoint: kept.onCheckpoint,
    onKept: kept.onKept,
  })
  const outside = createOutside({
    store,
    clock: systemClock,
    newVersion: working.newVersion,
    settings,
    isShared: true,
    onPending() {},
    onTrouble,
  })
  const opened = { store, clock: systemClock, engine: working, outside }
  const listeners = { onAnswered: createApiLog(sink), onTrouble }
  const server = createApi(opened, settings, listeners, kept)
  const projection = startProjection({
    store,
    clock: { ...systemClock, isDoubted: () => false },
    newVersion: opened.engine.newVersion,
    instance: randomUUID(),
    retentionDays: settings.transactionRetentionDays,
    consumers: [outside.consumer],
    onFigures() {},
    onTrouble,
  })
  const apiPort = await listenAt(server, {
    ...settings,
    name: 'the management API',
    prefix: 'API',
  })
  outside.start()
  sink.logger.info({ apiPort }, 'serving the management API')
  await new Promise<void>((resolve) => onInterrupt(resolve))
  await Promise.all([server.close(), projection.stop(), outside.stop()])
  kept.stop()
  sink.logger.info('stopped')
  await sink.end()
  return 0
}

function refusalOf({ api, redis }: Config): string {
  if (api === null) return 'API_PORT is required: the port to serve the management API on'
  if (redis !== null) return ''
  return 'REDIS_URL is required: an embedded store has one server, which serves the API itself by API_PORT'
}
