import { WorkflowWorldError } from '../sdk/errors.js';
import { wellFormed } from './text.js';

/** Percent-encodes one path segment. */
export function pathSegment(text: string): string {
  if (typeof text !== 'string' || text === '') {
    throw new WorkflowWorldError('an id or a name is missing', { status: 400, code: 'invalid' });
  }
  return percentEncode(text);
}

/** Appends the defined parameters. A list becomes repeated parameters, an empty list one empty parameter. */
export function withQuery(path: string, query: Record<string, string | number | string[] | undefined>): string {
  const pairs: string[] = [];
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined) continue;
    const values = Array.isArray(value) ? value : [value];
    for (const one of values.length > 0 ? values : ['']) pairs.push(`${key}=${percentEncode(String(one))}`);
  }
  return pairs.length > 0 ? `${path}?${pairs.join('&')}` : path;
}

function percentEncode(text: string): string {
  return encodeURIComponent(wellFormed(text));
}
