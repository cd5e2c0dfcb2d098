import { NestFactory } from '@nestjs/core';
import { getWorld } from 'workflow/runtime';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule);
await app.listen(process.env.PORT ?? 3000);
await (await getWorld()).start?.();
