import { describe, expect, it } from 'vitest'
import { createCondemned, maxSuspects } from '../../src/gate/condemned.ts'

const minuteMs = 60_000

describe('accounts that engines died of', () => {
  it('are left alone after two deaths, and the longer the more often it happens', () => {
    let nowMs = 0
    const condemned = createCondemned({ monoMs: () => nowMs })
    expect(condemned.died('a:1')).toBe(false)
    expect(condemned.died('a:2')).toBe(false)
    expect(condemned.list()).toEqual([])
    expect(condemned.died('a:1')).toBe(true)
    expect(condemned.list()).toEqual([{ aggregate: 'a:1', leftMs: 10 * minuteMs }])
    nowMs = 11 * minuteMs
    expect(condemned.list()).toEqual([])
    expect(condemned.died('a:1')).toBe(true)
    expect(condemned.list()).toEqual([{ aggregate: 'a:1', leftMs: 20 * minuteMs }])
    condemned.forget()
    expect(condemned.list()).toEqual([])
  })

  it('are tried again after a day at the latest', () => {
    let nowMs = 0
    const condemned = createCondemned({ monoMs: () => nowMs })
    for (let deaths = 0; deaths < 12; deaths++) {
      condemned.died('a:1')
      nowMs += condemned.list()[0]?.leftMs ?? 0
    }
    condemned.died('a:1')
    expect(condemned.list()).toEqual([{ aggregate: 'a:1', leftMs: 24 * 60 * minuteMs }])
  })

  it('are no more suspect when their deaths lie far apart, or are many', () => {
    let nowMs = 0
    const condemned = createCondemned({ monoMs: () => nowMs })
    condemned.died('a:1')
    nowMs = 11 * minuteMs
    expect(condemned.died('a:1')).toBe(false)
    for (let i = 0; i < maxSuspects; i++) condemned.died(`a:other-${i}`)
    expect(condemned.died('a:1')).toBe(false)
  })
})
