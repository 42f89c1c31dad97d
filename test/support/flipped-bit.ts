/** As a disk or a memory may do it, each in turn. */
export function* withOneFlippedBit(text: string): Generator<string> {
  for (let at = 0; at < text.length; at++) {
    for (let bit = 1; bit < 128; bit *= 2) {
      const flipped = String.fromCharCode(text.charCodeAt(at) ^ bit)
      yield text.slice(0, at) + flipped + text.slice(at + 1)
    }
  }
}
