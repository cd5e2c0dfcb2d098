import { resumeHook } from 'workflow/api';

export default defineEventHandler(async (event) => {
  await resumeHook(getRouterParam(event, 'token') ?? '', await readBody(event));
  return {};
});
