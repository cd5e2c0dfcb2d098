import type { NextConfig } from 'next';
import { withWorkflow } from 'workflow/next';

const nextConfig: NextConfig = {
  cacheComponents: true,
  partialPrefetching: true,
  output: 'standalone',
  serverExternalPackages: ['@world-redis/client'],
};

export default withWorkflow(nextConfig);
