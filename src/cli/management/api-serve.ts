import type { Command } from 'commander'
import { createTrustedClock, type TrustedClock } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { onInterrupt } from '../interrupt.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode } from '../terminal.ts'

const help = `
With Redis the management API may run apart from the servers that decide. Its settings are those of a
server: API_PORT and the others that begin with API_, REDIS_URL, SECRETS_KEY, RULES_DIR (which it follows as a
server does). With ADMIN_PORT it serves /healthz, /readyz, /metrics and POST /admin/rules/reload there.

Example:
  $ API_PORT=8082 ADMIN_PORT=8083 REDIS_URL=redis://127.0.0.1:6379 SECRETS_KEY_FILE=/run/secrets/key arbiter api serve`

export function addApiServe(api: Command): void {
  api
    .command('serve')
    .description('Serve the management API alone, on the Redis that the servers share.')
    .addHelpText('after', help)
    .action(() => {
      const onStop = hearStop()
      const clock = createTrustedClock(null)
      // Nothing is known of before but what Redis says.
      clock.remember(null)
      return inSession((session) => serve(session, clock, onStop), { serves: clock })
    })
}

/** From the first moment on: the first process of a container gets signals only if it listens. */
function hearStop(): (listener: () => void) => void {
  let stop = (): void => {
    // Nobody was told anything yet, so nothing is waited for.
    complain('stopped before it served')
    process.exit(0)
  }
  onInterrupt(() => stop())
  return (listener) => {
    stop = listener
  }
}

async function serve(
  { store, config }: Session,
  clock: TrustedClock,
  onStop: (listener: () => void) => void,
): Promise<ExitCode> {
  const refused = refusalOf(config)
  if (refused !== '' || config.api === null) {
    complain(refused)
    return 2
  }
  const { refuseWrongClock } = await import('../wrong-clock.ts')
  const { serveApiAlone } = await import('../../api-process.ts')
  await refuseWrongClock(store, config)
  // A server may run on the same machine, on the port that ADMIN_PORT has by itself.
  const hasAdmin = Boolean(process.env.ADMIN_PORT)
  await serveApiAlone({ store, clock, config, settings: config.api, hasAdmin, onStop })
  return 0
}

function refusalOf({ api, redis }: Config): string {
  if (api === null) return 'API_PORT is required: the port to serve the management API on'
  if (redis !== null) return ''
  return 'REDIS_URL is required: an embedded store has one server, which serves the API itself by API_PORT'
}
