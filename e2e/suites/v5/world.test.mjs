// @ts-check
import { createTestSuite } from '@workflow/world-testing';

createTestSuite('@world-redis/client');
