// Values that may be more than the service takes.

/** Text that compresses to little less, for SDK v5 compresses what it sends. */
const noise = (size: number) => Array.from({ length: size }, () => String.fromCharCode(32 + Math.floor(Math.random() * 95))).join('');

async function gives(size: number) {
  'use step';
  return noise(size);
}
gives.maxRetries = 1;

async function takes(text: string) {
  'use step';
  return text.length;
}

const seen = (error: unknown) => {
  const { name, message } = error as Error;
  return { caught: name, message };
};

export async function bigResult(size: number) {
  'use workflow';
  try {
    return (await gives(size)).length;
  } catch (error) {
    return seen(error);
  }
}

export async function bigArgument(size: number) {
  'use workflow';
  try {
    return await takes(noise(size));
  } catch (error) {
    return seen(error);
  }
}

export async function bigOutput(size: number) {
  'use workflow';
  return noise(size);
}
