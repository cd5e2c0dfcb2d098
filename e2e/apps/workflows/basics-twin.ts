// Workflows and steps with the names of those in basics.ts: a file's path is part of what they are called.
export async function addTen(n: number) {
  'use step';
  return n + 10.5;
}

export async function threeAdds(n: number) {
  'use workflow';
  const a = await addTen(n);
  const b = await addTen(a);
  return (await addTen(b)) - 21;
}
