import { z } from 'zod'
import { transferTypes } from '../../management/transfer/transfer.ts'
import { balances } from './card/card-data.ts'

export const wallet = z.object({ currency: z.string(), balance: z.number() })

/** The `data` of what moved money. */
export const transferData = z.object({
  transferId: z.string(),
  type: z.enum([...transferTypes, 'WalletFunding']),
  amount: z.number(),
  currency: z.string(),
  cardId: z.string().optional(),
  balances: balances.optional(),
  beneficiaryCardId: z.string().optional(),
  beneficiaryBalances: balances.optional(),
  wallet: wallet.optional(),
  completedAt: z.string(),
})
