import type { Command } from 'commander'
import { readKyc, shownKyc } from '../../kyc/kyc.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printJson, sayRefused } from '../terminal.ts'

const help = `
Example:
  $ arbiter kyc show kyc_01JCQ89YV0C8M2N4P6Q8R0S2TW`

export function addKyc(program: Command): void {
  program
    .command('kyc')
    .description('Show verifications of customers.')
    .addHelpText('after', help)
    .command('show')
    .description('Show one, without what was said of its subject.')
    .argument('<token>', 'its kycToken')
    .addHelpText('after', help)
    .action((token: string) => inSession((session) => show(token, session)))
}

async function show(token: string, { store }: Session): Promise<ExitCode> {
  const kyc = await readKyc(store, token)
  if (kyc === null) return sayRefused(`there is no KYC ${token}`)
  const { organizationId, isHandedOver, dueMs } = kyc
  const nextLookAt = dueMs === null ? null : new Date(dueMs).toISOString()
  await printJson({ organizationId, ...shownKyc(kyc), isHandedOver, nextLookAt }, 2)
  return 0
}
