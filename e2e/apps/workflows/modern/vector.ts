// A class that no workflow imports.
import { WORKFLOW_DESERIALIZE, WORKFLOW_SERIALIZE } from '@workflow/serde';

export class Vector {
  constructor(public parts: number[]) {}

  static [WORKFLOW_SERIALIZE](vector: Vector) {
    return vector.parts;
  }

  static [WORKFLOW_DESERIALIZE](parts: number[]) {
    return new Vector(parts);
  }

  plus(other: Vector) {
    return new Vector(this.parts.map((part, i) => part + other.parts[i]!));
  }
}
