// What the tests use of Node 22, on which they run. The typings here are the client's, of Node 20.
export {};

declare module 'node:fs' {
  export function globSync(pattern: string): string[];
}

declare module 'node:zlib' {
  export function zstdDecompressSync(data: Uint8Array): Buffer;
}

declare module 'node:test' {
  interface RunOptions {
    execArgv?: string[];
  }
}
