import { isFields } from '../wire/timestamps.js';

/** The service sends no more than these; what exceeds them is cut. */
const MOST_WARNINGS = 5;
const LONGEST_MESSAGE = 500;

export interface Warning {
  code: string;
  message: string;
}

/** What the service has found out about an app, in its answer to a registration (docs/protocol.md). */
export function warningsIn(answer: unknown): Warning[] {
  const list = isFields(answer) ? answer['warnings'] : undefined;
  if (!Array.isArray(list)) return [];
  return list.slice(0, MOST_WARNINGS).flatMap((item: unknown) => {
    const { code, message } = isFields(item) ? item : {};
    return typeof code === 'string' && typeof message === 'string' ? [{ code, message: printable(message) }] : [];
  });
}

/** A message is shown on a terminal, which must not take anything in it for a command. */
function printable(message: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to go
  return message.slice(0, LONGEST_MESSAGE).replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}

/** Writes the warnings of one app to stderr: each once until it has gone, and a line when the last has. */
export class WarningPrinter {
  #shown = new Set<string>();

  /** Is called with the warnings of each answer. */
  print(baseUrl: string, warnings: Warning[]): void {
    const current = new Map(warnings.map((warning) => [JSON.stringify([warning.code, warning.message]), warning]));
    for (const [key, { message }] of current) {
      if (!this.#shown.has(key)) process.stderr.write(`[world-redis] WARNING: ${message}\n`);
    }
    if (this.#shown.size > 0 && current.size === 0) process.stderr.write(`[world-redis] ${baseUrl} is reached by the service\n`);
    this.#shown = new Set(current.keys());
  }
}
