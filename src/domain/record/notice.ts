import type { BlockKind } from './block.ts'

/** What holds for all accounts from then on: emergency blocks, and rules that breakers put into shadow. */
export type Notice =
  | {
      readonly type: 'blocked'
      readonly kind: BlockKind
      readonly value: string
      readonly untilMs: number
    }
  | { readonly type: 'unblocked'; readonly kind: BlockKind; readonly value: string }
  | { readonly type: 'ruleTripped'; readonly ruleId: string; readonly rulesVersion: string }
  | { readonly type: 'ruleArmed'; readonly ruleId: string }
