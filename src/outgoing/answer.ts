import type { z } from 'zod'

/** What a JSON text says, or why it is not what it must be: the names of fields, and nothing that stands in them. */
export function readJson<T>(text: string, shape: z.ZodType<T>): { readonly said: T } | string {
  // What is not UTF-8 was read with this in its place: a name would agree with no other.
  if (text.includes('\ufffd')) return 'it is not UTF-8'
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return 'it is not JSON'
  }
  const found = shape.safeParse(json)
  if (found.success) return { said: found.data }
  const [field] = found.error.issues[0]?.path ?? []
  return field === undefined ? 'it is not an object' : `\`${String(field)}\``
}
