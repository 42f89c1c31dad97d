import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** Says why an address may not be called; '' when it may. */
export type AddressPolicy = (address: string) => string

/** For addresses that the operator has set: where they lead is the operator's choice. */
export const anyAddress: AddressPolicy = () => ''

/** Reserved for other uses than a public server: IANA's registries of special-purpose addresses. */
const specialIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
/** All others, also those that hold an IPv4 address (mapped, NAT64), lie outside of this. */
const publicIpv6 = ['2000::/3']
/** Within it: Teredo and its neighbours, documentation, 6to4. */
const specialIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']
/** An IPv4 address in the clothes of an IPv6 one. */
const mapped = new BlockList()
mapped.addSubnet('::ffff:0:0', 96, 'ipv6')
/** No network that is allowed covers these: a cloud gives its machines' credentials away there. */
const linkLocal = listOf(['169.254.0.0/16', 'fe80::/10'])
const cloudOwn = listOf(['168.63.129.16/32', 'fd00:ec2::254/128', 'fd20:ce::254/128'])
const loopback = listOf(['127.0.0.0/8', '::1/128'])
const special = listOf([...specialIpv4, ...specialIpv6])
const publicRange = listOf(['0.0.0.0/0', ...publicIpv6])

export function isCidr(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/')
  if (rest.length > 0 || !/^[0-9]{1,3}$/.test(prefix)) return false
  return (isIPv4(address) && Number(prefix) <= 32) || (isIPv6(address) && Number(prefix) <= 128)
}

/** Each call asks again, mostly of the same few: to look through all networks takes 50 µs. */
const maxKnown = 1_000

/** Public addresses may be called, private ones only within `networks`, our own machine in a sandbox. */
export function createAddressPolicy(networks: readonly string[], sandbox: boolean): AddressPolicy {
  const allowed = listOf(networks)
  const known = new Map<string, string>()
  return (address) => {
    let problem = known.get(address)
    if (problem === undefined) {
      problem = judge(address)
      if (known.size >= maxKnown) known.clear()
      known.set(address, problem)
    }
    return problem
  }

  function judge(address: string): string {
    if (holds(linkLocal, address)) return 'it is link-local'
    if (holds(cloudOwn, address)) return 'a cloud keeps it for its own machines'
    if (holds(loopback, address) && sandbox) return ''
    if (holds(allowed, address)) return ''
    return isPublic(address) ? '' : 'it is no public address, and in none of WEBHOOK_NETWORKS'
  }
}

/** Whether it is a server's that everybody may call. */
export function isPublic(address: string): boolean {
  return holds(publicRange, address) && !holds(special, address)
}

/** By family: a list of both would take an IPv4 address for its mapped one. */
interface Networks {
  readonly ipv4: BlockList
  readonly ipv6: BlockList
}

function listOf(networks: readonly string[]): Networks {
  const list = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const network of networks) {
    const [address = '', prefix = ''] = network.split('/')
    // To make the pattern of isIPv6 takes longer than all the rest here, at each start.
    const family = address.includes(':') ? 'ipv6' : 'ipv4'
    list[family].addSubnet(address, Number(prefix), family)
  }
  return list
}

/** A mapped address is in no network: who means an IPv4 address can write one. */
function holds(networks: Networks, address: string): boolean {
  if (isIPv4(address)) return networks.ipv4.check(address, 'ipv4')
  if (!isIPv6(address) || mapped.check(address, 'ipv6')) return false
  return networks.ipv6.check(address, 'ipv6')
}
