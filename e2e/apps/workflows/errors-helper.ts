// Throws for workflows and steps of another file.
export function throwFromAfar(by: string): never {
  throw deepDown(by);
}

function deepDown(by: string) {
  return new Error(`from afar ${by}`);
}
