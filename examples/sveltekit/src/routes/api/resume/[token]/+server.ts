import { json, type RequestHandler } from '@sveltejs/kit';
import { resumeHook } from 'workflow/api';

export const POST: RequestHandler = async ({ params, request }) => {
  await resumeHook(params.token ?? '', await request.json());
  return json({});
};
