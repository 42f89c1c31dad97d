import { anyAddress } from '../../outgoing/address.ts'
import { createOutgoing } from '../../outgoing/call.ts'
import { createResolver } from '../../outgoing/name.ts'
import { readWebhookSecret } from '../../outgoing/signature.ts'
import { createHttpNumbers, type HttpNumbersOptions } from './http.ts'
import { createSandboxNumbers, type SandboxNumbersOptions } from './sandbox.ts'
import { type NumberSource, noNumbers } from './source.ts'

/** Where numbers come from, as it is configured. */
export type CardNumbers =
  | { readonly source: 'none' }
  | { readonly source: 'sandbox'; readonly bin: string }
  | { readonly source: 'http'; readonly url: string; readonly secret: string }

type Needs = Omit<SandboxNumbersOptions, 'bin'> & {
  readonly clock: HttpNumbersOptions['clock'] & { monoMs(): number }
  readonly onTrouble: HttpNumbersOptions['onTrouble']
  /** Through which a source is called; '' when there is none. */
  readonly proxy: string
}

const maxCalls = 64

export function createNumbers(chosen: CardNumbers, needs: Needs): NumberSource {
  switch (chosen.source) {
    case 'none':
      return noNumbers
    case 'sandbox':
      return createSandboxNumbers({ ...needs, bin: chosen.bin })
    case 'http': {
      const { clock, proxy, onTrouble } = needs
      const secret = readWebhookSecret(chosen.secret)
      if (secret === null) throw new Error('CARD_NUMBERS_SECRET was checked when it was read')
      const outgoing = createOutgoing({
        clock,
        allows: anyAddress,
        // Whether it may be plain was checked with the configuration.
        allowsPlain: true,
        resolve: createResolver(clock),
        proxy,
        maxCalls,
      })
      return createHttpNumbers({ outgoing, clock, url: chosen.url, secret, onTrouble })
    }
  }
}
