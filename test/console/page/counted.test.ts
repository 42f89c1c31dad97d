import { expect, it } from 'vitest'
import { countedUpTo } from '../../../src/console/page/counted.ts'
import { countedText } from '../../../src/console/page/format.ts'
import { maxCounted } from '../../../src/engine/notice/worklist-watch.ts'
import { maxCountedDeliveries } from '../../../src/webhook/pending.ts'

it('says that there may be more where counting ended', () => {
  expect(countedText({ webhooks: 9_999 })).toBe('9,999')
  expect(countedText({ webhooks: 10_000 })).toBe('10,000+')
  expect(countedText({ unmatched: 105, anomalies: 999 })).toBe('1,104')
  expect(countedText({ unmatched: 105, anomalies: 1_000 })).toBe('1,105+')
})

it('knows the bounds of those who count', () => {
  const { unmatched, anomalies, webhooks } = countedUpTo
  expect({ unmatched, anomalies }).toEqual({ unmatched: maxCounted, anomalies: maxCounted })
  expect(webhooks).toBe(maxCountedDeliveries)
})
