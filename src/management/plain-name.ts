/** Capitals that no mark can be taken off, and what people type for an apostrophe and a hyphen. */
const plainOf = new Map(
  `Ł=L Ø=O Đ=D Ð=D Þ=TH Æ=AE Œ=OE ẞ=SS Ħ=H Ŧ=T Ŋ=N Ɓ=B Ɖ=D Ɗ=D Ɛ=E Ƒ=F Ɣ=G Ƙ=K Ɔ=O Ʋ=V Ƴ=Y ‘=' ’=' ʼ=' ʻ=' ‐=- –=-`
    .split(' ')
    .map((pair) => pair.split('=') as [string, string]),
)

/** A name as cards and registers write it: in capitals, and without marks. */
export function plainName(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toUpperCase()
    .replace(/[^A-Z]/gu, (letter) => plainOf.get(letter) ?? letter)
}
