import type { APIRoute } from 'astro';
import { resumeHook } from 'workflow/api';

export const prerender = false;

export const POST: APIRoute = async ({ params, request }) => {
  await resumeHook(params.token ?? '', await request.json());
  return Response.json({});
};
