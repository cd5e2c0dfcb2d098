// Passes on what its steps make.
import { addVectors, makeVector, partsOf } from './vector-steps';

export async function vectors() {
  'use workflow';
  const made = [await makeVector(1, 2, 3), await makeVector(10, 20, 30)];
  return await partsOf(await addVectors(made));
}
