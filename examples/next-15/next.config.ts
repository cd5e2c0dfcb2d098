import type { NextConfig } from 'next';
import { withWorkflow } from 'workflow/next';

const nextConfig: NextConfig = {
  output: 'standalone',
  serverExternalPackages: ['@world-redis/client'],
};

export default withWorkflow(nextConfig);
