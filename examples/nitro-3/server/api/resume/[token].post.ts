import { defineHandler } from 'nitro/h3';
import { resumeHook } from 'workflow/api';

export default defineHandler(async (event) => {
  await resumeHook(event.context.params?.token ?? '', await event.req.json());
  return {};
});
