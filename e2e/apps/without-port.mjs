// @ts-check
// The end-to-end app as one whose port nothing names: it has no variable PORT when it calls start(), and the port that it
// listens on is its argument. With E2E_APP_SILENT=1 it never calls start().
process.env.PORT = process.argv[2];
await import('./server.mjs');
delete process.env.PORT; // it listens already, and calls start() later

export {};
