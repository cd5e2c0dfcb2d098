// @ts-check
// The service's own HTTP API in JSON, as used from any language (docs/protocol.md).

export class Api {
  constructor(url, token) {
    this.url = url;
    this.token = token;
  }

  /**
   * One request; returns status, headers and the decoded body, whatever the status.
   *
   * @param {string} path
   * @param {{ method?: string, body?: string, headers?: Record<string, string>, token?: string }} [options]
   */
  async request(path, { method = 'GET', body, headers, token = this.token } = {}) {
    const response = await fetch(this.url + path, {
      method,
      body,
      headers: {
        accept: 'application/json',
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      redirect: 'manual',
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: parse(text), text };
  }

  async get(path) {
    const answer = await this.request(path);
    if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  }

  /** Follows a list to its end. */
  async all(path, limit = 100) {
    const items = [];
    let cursor;
    do {
      const url = new URL(path, this.url);
      url.searchParams.set('limit', String(limit));
      if (cursor) url.searchParams.set('cursor', cursor);
      const page = await this.get(url.pathname + url.search);
      items.push(...page.data);
      cursor = page.hasMore ? page.cursor : undefined;
    } while (cursor);
    return items;
  }

  run(runId) {
    return this.get(`/v1/runs/${runId}`);
  }

  events(runId) {
    return this.all(`/v1/runs/${runId}/events?sortOrder=asc`);
  }

  steps(runId) {
    return this.all(`/v1/runs/${runId}/steps`);
  }

  hooks(runId) {
    return this.all(`/v1/hooks?runId=${runId}`);
  }

  /** All runs, or those with a status. */
  runs(status) {
    return this.all(`/v1/runs${status ? `?status=${status}` : ''}`, 1000);
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
