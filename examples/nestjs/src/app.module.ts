import { Module } from '@nestjs/common';
import { WorkflowModule } from '@workflow/nest';
import { OrdersController } from './orders.controller.js';

@Module({
  imports: [WorkflowModule.forRoot()],
  controllers: [OrdersController],
})
export class AppModule {}
