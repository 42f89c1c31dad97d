import { Gauge, type Registry } from 'prom-client'

/** What a gauge shows of the figures; null leaves it as it is. */
export type GaugeRow<Figures> = readonly [
  name: string,
  help: string,
  value: (figures: Figures) => number | null,
]

/** One gauge for each row, all set from one object. */
export function createGauges<Figures>(
  registers: Registry[],
  rows: readonly GaugeRow<Figures>[],
): (figures: Figures) => void {
  const made = rows.map(([name, help, value]) => ({
    gauge: new Gauge({ name, help, registers }),
    value,
  }))
  return (figures) => {
    for (const { gauge, value } of made) {
      const reading = value(figures)
      if (reading !== null) gauge.set(reading)
    }
  }
}
