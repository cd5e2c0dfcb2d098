import { defineConfig } from 'nitro';

export default defineConfig({
  serverDir: './server',
  modules: ['workflow/nitro'],
  traceDeps: ['@world-redis/client'],
});
