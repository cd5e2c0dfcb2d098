import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { getRun, resumeHook, start } from 'workflow/api';
import { type Order, orderWorkflow } from './workflows/order.js';

@Controller('api')
export class OrdersController {
  @Post('start')
  async start(@Body() order: Order) {
    const { runId } = await start(orderWorkflow, [order]);
    return { runId };
  }

  @Post('resume/:token')
  async resume(@Param('token') token: string, @Body() approval: { by: string }) {
    await resumeHook(token, approval);
    return {};
  }

  @Get('result/:runId')
  async result(@Param('runId') runId: string) {
    const run = getRun(runId);
    const status = await run.status;
    if (status !== 'completed') return { status };
    const stream = await new Response(run.getReadable().pipeThrough(new TextEncoderStream())).text();
    return { status, result: await run.returnValue, stream };
  }
}
