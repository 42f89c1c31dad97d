/** The folder of the compiled program: bundled modules are not where their sources are, so files are found from here. */
export const programFolder = new URL('./', import.meta.url)

/** What is shipped beside the program: rules, scenarios, runbook. */
export const releaseFolder = new URL('../', import.meta.url)
