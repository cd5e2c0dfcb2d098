// Steps that hand a class of their own to each other, through workflows that know nothing of it.
import { Vector } from './vector';

export async function makeVector(...parts: number[]) {
  'use step';
  return new Vector(parts);
}

export async function addVectors(vectors: Vector[]) {
  'use step';
  if (!vectors.every((vector) => vector instanceof Vector)) throw new Error('not vectors');
  return vectors.reduce((sum, vector) => sum.plus(vector));
}

export async function partsOf(vector: Vector) {
  'use step';
  return vector.parts;
}
