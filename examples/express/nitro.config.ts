import { defineConfig } from 'nitro';

export default defineConfig({
  modules: ['workflow/nitro'],
  plugins: ['./src/world.ts'],
  routes: { '/**': { handler: './src/index.ts', format: 'node' } },
});
