import { z } from 'zod'

/** A JSON Schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>

/** What a zod schema takes, as JSON Schema; without what it always refuses. */
export function schemaOf(schema: z.ZodType): Schema {
  const { $schema: _, ...whole } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  if (whole.properties === undefined) return whole
  const taken = Object.entries(whole.properties).filter(
    ([, one]) => !Object.hasOwn(one as Schema, 'not'),
  )
  return { ...whole, properties: Object.fromEntries(taken) }
}

/** One parameter or field, for people; one of an inner object as `cardLimits.dailyLimit`. */
export interface DescribedField {
  readonly name: string
  readonly required: boolean
  readonly type: string
}

export function fieldsIn(schema: Schema, outer = ''): DescribedField[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, Schema>>
    required?: readonly string[]
  }
  return Object.entries(properties).flatMap(([name, field]) => {
    const whole = `${outer}${name}`
    const isRequired = required.includes(name)
    const [inner, suffix] = innerOf(field)
    const fields = inner === null ? [] : fieldsIn(inner, `${whole}${suffix}.`)
    return [{ name: whole, required: isRequired, type: typeText(field) }, ...fields]
  })
}

/** The object that a field is, or may be, or has a list of; null where it has nothing to do with one. */
function innerOf(field: Schema): readonly [inner: Schema | null, suffix: string] {
  const items = field.items as Schema | undefined
  if (items !== undefined) return [innerOf(items)[0], '[]']
  const choices = field.anyOf as readonly Schema[] | undefined
  const found = [field, ...(choices ?? [])].find(({ properties }) => properties !== undefined)
  return [found ?? null, '']
}

/** In a few words: what it is, and how much of it. */
function typeText(field: Schema): string {
  const choices = field.anyOf as readonly Schema[] | undefined
  // Null comes first, or it would seem to belong to what is said of the other.
  if (choices !== undefined) return choices.map(typeText).reverse().join(' or ')
  const says = field.description === undefined ? '' : `: ${field.description}`
  return `${shapeText(field)}${says}`
}

function shapeText(field: Schema): string {
  if (field.enum !== undefined) return (field.enum as readonly unknown[]).join(' | ')
  if (field.items !== undefined) {
    return `list of ${typeText(field.items as Schema)}${boundText(field.minItems, field.maxItems)}`
  }
  const names = [field.type ?? 'any'].flat().join(' or ')
  if (field.additionalProperties !== undefined) {
    return `${names}, of ${typeText(field.additionalProperties as Schema)}`
  }
  const pattern = field.pattern === undefined ? '' : ` as ${field.pattern}`
  const bounds =
    boundText(field.minLength, field.maxLength) + boundText(field.minimum, field.maximum)
  return `${names}${pattern}${bounds}`
}

/** '' where there is none but that of the numbers themselves. */
function boundText(least: unknown, most: unknown): string {
  const [from, to] = [least, most].map((one) => {
    return typeof one === 'number' && Math.abs(one) < Number.MAX_SAFE_INTEGER ? one : null
  })
  if (to === null || to === undefined) return from ? `, at least ${from}` : ''
  return from ? `, ${from} to ${to}` : `, at most ${to}`
}
