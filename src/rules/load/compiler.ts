import { dayMs, systemClock } from '../../clock.ts'
import type { FileFault, YamlDocument } from '../../document/yaml-document.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import { createZone, createZones, type Zone } from '../../domain/record/calendar.ts'
import { isCurrency } from '../../domain/record/currency.ts'
import { createFactSlots } from '../condition/fact-slots.ts'
import { factsOf, remembersFor } from '../condition/fact-table.ts'
import { countryForm, mccForm } from '../condition/text-form.ts'
import { type Rates, ratesOf } from '../condition/worth.ts'
import { buildEvaluation } from '../evaluate/evaluation.ts'
import { enforcedOf, planEvaluation } from '../evaluate/plan.ts'
import { holdTestsOf, withFilters } from '../evaluate/window-filter.ts'
import { abovesOf } from '../pack/action.ts'
import type { CompiledPack } from '../pack/compiled-pack.ts'
import { costFault, costOf, type PackCost } from '../pack/cost.ts'
import { compileRates, compileSwitches, type PackFile, packFile } from '../pack/file.ts'
import { byOrder, checkFiles, isReadable, type PackFiles, versionOf } from '../pack/folder.ts'
import { lineOfValue, listNameOf, parseList } from '../pack/list-file.ts'
import { memoriesOf } from '../pack/memory.ts'
import { readPackFiles } from '../pack/reading.ts'
import { PackRefused } from '../pack/refusal.ts'
import { expiredOf } from '../pack/rule.ts'
import { checkSeal, sealFile } from '../pack/seal.ts'
import { finish } from '../pack/step.ts'
import { windowsByPlace } from '../pack/window-file.ts'
import { runPackTests } from '../testing/pack-test.ts'
import { readPackTests } from '../testing/test-document.ts'
import { readDefinitions } from './definition-reading.ts'
import { checkListed, type ListReading } from './listed-value.ts'
import { openPackFile } from './pack-document.ts'
import { warningsOf } from './pack-warning.ts'
import { readRules } from './rule-reading.ts'
import { readFilters, readHoldFilters, readWindows } from './window-reading.ts'

export interface CompileOptions {
  /** Warnings compare `expires` with this time; asks are compared by their own. */
  readonly nowMs?: number
  /** false evaluates every rule for every ask: the same verdicts, slower. */
  readonly indexed?: boolean
  /** false does not run the pack's own tests: they have passed before, or the caller runs them. */
  readonly tested?: boolean
  /** false takes a pack as it is, whatever its seal says. */
  readonly sealed?: boolean
}

/** Reads and compiles a pack; throws PackRefused with all of its faults. */
export function loadPack(folder: string, retentionDays: number): CompiledPack {
  return compilePack(readPackFiles(folder), retentionDays)
}

export function compilePack(
  files: PackFiles,
  retentionDays: number,
  { nowMs = systemClock.nowMs(), indexed = true, ...options }: CompileOptions = {},
): CompiledPack {
  const { tested = true, sealed = true } = options
  const faults = [...checkFiles(files), ...(sealed ? checkSeal(files) : [])]
  const readable = new Map(
    [...files].filter(([name, text]) => isReadable(name, text)).sort(byOrder),
  )
  const lists = readLists(readable, faults)
  const lineInList = (list: string, value: string) =>
    lineOfValue(readable.get(`lists/${list}.txt`) ?? '', value)
  const settings = readSettings(readable, retentionDays, { lists, lineInList }, faults)
  const { zone, zones, currency, rates } = settings
  const windowsDocument = openPackFile(readable, 'windows.yaml', faults)
  const { windows: unfiltered, written } = readWindows(windowsDocument, zone, { lists, lineInList })
  const facts = factsOf(unfiltered, rates)
  const slots = createFactSlots(zone)
  const given = { facts, lists, slots, currency, rates, lineInList, defined: new Map() }
  // Facts that no rule looks at must not be kept, so definitions are checked with slots of their own.
  const apart = { ...given, slots: createFactSlots(zone) }
  const defined = readDefinitions(readable, settings.define, apart, faults)
  const vocabulary = { ...given, defined }
  const filterSlots = createFactSlots(zone)
  const ofEvents = { ...vocabulary, facts: factsOf([], rates), slots: filterSlots }
  const ofWindows = readFilters(windowsDocument, written, ofEvents)
  const filters = new Map([...ofWindows, ...readHoldFilters(readable, ofEvents, faults)])
  faults.push(...(windowsDocument?.faults ?? []))
  const rules = readRules(readable, vocabulary, faults)
  faults.push(...missingOf(settings, rules.length, sealed && !files.has(sealFile), faults))
  if (faults.length > 0 || settings.switches === null) {
    // Its tests cannot run, but the faults of their files are reported too.
    const unread = tested ? readPackTests(readable).faults : []
    throw new PackRefused([...faults, ...unread])
  }
  const plan = planEvaluation(rules, facts, slots, indexed)
  const filterPlaces = filterSlots.places()
  const windows = withFilters(unfiltered, filters, filterSlots)
  const filtering = Array.from(filters.values(), (condition) => ({ condition }))
  const cost = boundedCost(windows, [...plan.rules, ...filtering])
  const kept = { lists, windows: written, filters, filterPlaces, defined, rates, zones }
  const parts = { ...kept, places: slots.places(), plan }
  const remembers = remembersFor((name) => slots.uses(name) || filterSlots.uses(name))
  const evaluate = finish(buildEvaluation(plan, facts, slots))
  const expired = expiredOf(rules, zone.dayOf(nowMs))
  const pack: CompiledPack = {
    version: versionOf(files),
    name: settings.name,
    currency,
    zone,
    switches: settings.switches,
    ...windowsByPlace(windows),
    ...holdTestsOf(filters, filterSlots),
    rules,
    expired,
    warnings: warningsOf(rules, expired, vocabulary, windowsDocument, kept),
    cost,
    parts,
    evaluate: (ask) => evaluate(ask),
    ...abovesOf(plan.rules),
    evaluateInShadow: (ask, ids) => evaluate(ask, ids),
    ...enforcedOf(rules),
    remembers,
    memories: memoriesOf(written, remembers, rules, parts.places, kept),
    retentionMs: retentionDays * dayMs,
  }
  const failed = tested ? runPackTests(readable, pack) : []
  if (failed.length > 0) throw new PackRefused(failed)
  return pack
}

function boundedCost(...given: Parameters<typeof costOf>): PackCost {
  const cost = costOf(...given)
  const costly = costFault(cost)
  if (costly !== null) throw new PackRefused([{ ...costly, line: 0, column: 0 }])
  return cost
}

interface Settings {
  readonly name: string
  readonly zone: Zone
  readonly zones: PackFile['zones']
  readonly currency: string
  readonly rates: Rates
  readonly define: PackFile['define']
  /** null when the file has faults. */
  readonly switches: Pack['switches'] | null
  /** What pack.yaml says that the folder must have, with the place where it says so. */
  readonly whole: { readonly rules: Said<number>; readonly sealed: Said<boolean> } | null
}

interface Said<T> {
  readonly value: T | undefined
  readonly at: { readonly line: number; readonly column: number }
}

/** What an incomplete folder lacks, by what its pack.yaml says. */
function missingOf(
  { whole }: Settings,
  rules: number,
  unsealed: boolean,
  others: readonly FileFault[],
): FileFault[] {
  if (whole === null) return []
  const file = 'pack.yaml'
  const faults: FileFault[] = []
  if (whole.sealed.value === true && unsealed) {
    const message = `sealed is true, and ${sealFile} is missing: write it with arbiter rules seal`
    faults.push({ file, ...whole.sealed.at, message })
  }
  const { value, at } = whole.rules
  // A rule with faults is not counted, so the number says nothing while there are any.
  if (value !== undefined && value !== rules && others.length === 0) {
    faults.push({ file, ...at, message: `rules says ${value}, and the files have ${rules}` })
  }
  return faults
}

/** Reads pack.yaml; when it has faults, what is right in it still serves to check other files. */
function readSettings(
  files: PackFiles,
  retentionDays: number,
  listed: ListReading,
  faults: FileFault[],
): Settings {
  const document = openPackFile(files, 'pack.yaml', faults)
  const given = (document?.value ?? {}) as Partial<PackFile>
  const zone = findZone(given?.zone, {})
  const currency = isCurrency(String(given?.currency)) ? String(given.currency) : 'USD'
  const unread: Settings = {
    name: '',
    zone: zone ?? createZone('UTC'),
    zones: {},
    currency,
    rates: {},
    define: {},
    switches: null,
    whole: null,
  }
  if (document === null) return unread
  const file = document.parse(packFile, given, [])
  if (file === null) {
    faults.push(...document.faults)
    const { define } = packFile.shape
    return {
      ...unread,
      define: define.safeParse(given.define).data ?? {},
      rates: given.rates === undefined ? {} : ratesOf({}, currency),
    }
  }
  if (zone === null) document.fault(['zone'], `${file.zone} is not an IANA time zone`)
  const zones = checkZones(file.zones, document)
  const {
    name,
    rules,
    sealed,
    define,
    zone: _,
    zones: __,
    currency: ___,
    rates: rateTexts,
    ...switchesText
  } = file
  const { switches, problems } = compileSwitches(switchesText, currency, listed.lists)
  const rates = compileRates(rateTexts, currency, problems)
  for (const { field, message } of problems) document.fault(pathOf(field), message)
  checkHoldDays(document, file, retentionDays)
  for (const [i, { mccs }] of file.holdAdjustments.entries()) {
    checkListed(document, ['holdAdjustments', i, 'mccs'], mccs, mccForm, listed)
  }
  for (const key of Object.keys(file.holdDays.byMcc)) {
    if (!/^\d/.test(key)) checkListed(document, ['holdDays', 'byMcc', key], key, mccForm, listed)
  }
  faults.push(...document.faults)
  const said = <T>(name: string, value: T) => ({ value, at: document.placeOf([name]) })
  const whole = { rules: said('rules', rules), sealed: said('sealed', sealed) }
  return {
    ...unread,
    zone: findZone(file.zone, zones) ?? unread.zone,
    zones,
    name,
    rates,
    define,
    whole,
    switches: document.faults.length > 0 ? null : switches,
  }
}

/** The path of a field such as holdAdjustments.0.mccs: short numbers are indexes, four digits an MCC. */
function pathOf(field: string): (string | number)[] {
  return field.split('.').map((part) => (/^\d{1,3}$/.test(part) ? Number(part) : part))
}

function checkHoldDays(
  document: YamlDocument,
  { holdDays }: PackFile,
  retentionDays: number,
): void {
  const { byMcc, ...others } = holdDays
  const given = [
    ...Object.entries(others).map(([name, days]) => ({ path: [name], days })),
    ...Object.entries(byMcc).map(([mcc, days]) => ({ path: ['byMcc', mcc], days })),
  ]
  for (const { path, days } of given) {
    if (days <= retentionDays) continue
    const message = `${days} days are more than EVENT_RETENTION_DAYS, ${retentionDays}`
    document.fault(['holdDays', ...path], message)
  }
}

/** The zones by country that are right; what is wrong with others is reported. */
function checkZones(given: PackFile['zones'], document: YamlDocument): PackFile['zones'] {
  const right = Object.entries(given).filter(([country, name]) => {
    const [known, isCountry] = [findZone(name, {}) !== null, countryForm.accepts(country)]
    if (!known) document.fault(['zones', country], `${name} is not an IANA time zone`)
    if (!isCountry) document.fault(['zones', country], `is ${countryForm.says}, never ${country}`)
    return known && isCountry
  })
  return Object.fromEntries(right)
}

function findZone(name: unknown, byCountry: PackFile['zones']): Zone | null {
  try {
    return createZones(typeof name === 'string' ? name : 'UTC', byCountry)
  } catch {
    return null
  }
}

function readLists(files: PackFiles, faults: FileFault[]): Map<string, Set<string>> {
  const lists = new Map<string, Set<string>>()
  for (const [file, text] of files) {
    const name = listNameOf(file)
    if (name !== null) lists.set(name, parseList(file, text, faults))
  }
  return lists
}
