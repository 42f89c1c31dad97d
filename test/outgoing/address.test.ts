import { describe, expect, it } from 'vitest'
import { createAddressPolicy, isCidr } from '../../src/outgoing/address.ts'

const strict = createAddressPolicy([], false)

describe('an address that a webhook leads to', () => {
  it.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700::1111', '2a00:1450::1'])(
    'may be public: %s',
    (address) => expect(strict(address)).toBe(''),
  )

  it.each([
    ['0.0.0.0'],
    ['10.1.2.3'],
    ['100.64.0.1'],
    ['127.0.0.1'],
    ['127.255.255.254'],
    ['169.254.169.254'],
    ['172.16.0.1'],
    ['172.31.255.255'],
    ['192.0.0.8'],
    ['192.168.1.1'],
    ['198.18.0.1'],
    ['224.0.0.1'],
    ['240.0.0.1'],
    ['255.255.255.255'],
    ['::'],
    ['::1'],
    ['::ffff:8.8.8.8'],
    ['::ffff:10.0.0.1'],
    ['::ffff:7f00:1'],
    ['::10.0.0.1'],
    ['64:ff9b::a00:1'],
    ['64:ff9b:1::a00:1'],
    ['2001::1'],
    ['2001:db8::1'],
    ['2002:a00:1::1'],
    ['3fff::1'],
    ['fc00::1'],
    ['fd00:ec2::254'],
    ['fe80::1'],
    ['fe80::1%eth0'],
    ['fec0::1'],
    ['ff02::1'],
    ['not an address'],
    [''],
  ])('may not be %s', (address) => expect(strict(address)).not.toBe(''))

  it('may be private within a network that is allowed, link-local and mapped never', () => {
    const allows = createAddressPolicy(['10.0.0.0/8', 'fd00::/8', '169.254.0.0/16', '::/0'], false)
    expect(allows('10.1.2.3')).toBe('')
    expect(allows('fd00::7')).toBe('')
    expect(allows('192.168.1.1')).not.toBe('')
    expect(allows('169.254.169.254')).not.toBe('')
    // Where clouds tell their machines' credentials outside of what is link-local.
    for (const one of ['fd00:ec2::254', 'fd20:ce::254', '168.63.129.16']) {
      expect(allows(one), one).toBe('a cloud keeps it for its own machines')
    }
    expect(allows('fd00:ec2::255')).toBe('')
    expect(allows('fe80::1')).not.toBe('')
    expect(allows('::ffff:192.168.1.1')).not.toBe('')
  })

  it('is judged the same however many were judged meanwhile', () => {
    const allows = createAddressPolicy([], false)
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 1_500; i++) {
        const end = `${i >> 8}.${i & 255}`
        expect([allows(`8.8.${end}`), allows(`10.0.${end}`) !== '']).toEqual(['', true])
      }
    }
  })

  it('may be our own machine in a sandbox', () => {
    const allows = createAddressPolicy([], true)
    expect([allows('127.0.0.1'), allows('::1')]).toEqual(['', ''])
    expect(allows('10.0.0.1')).not.toBe('')
  })
})

describe('a network', () => {
  it('is an address and the length of its prefix', () => {
    expect(['10.0.0.0/8', 'fd00::/8', '1.2.3.4/32'].every(isCidr)).toBe(true)
    expect(['10.0.0.0', '10.0.0.0/33', 'fd00::/129', 'a/8', '1.2.3.4/8/8'].some(isCidr)).toBe(false)
  })
})
