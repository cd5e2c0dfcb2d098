// Values that may be more than the service takes.
import { createHook, sleep } from 'workflow';

/** Text that compresses to little less, for SDK v5 compresses what it sends. */
const noise = (size: number) => Array.from({ length: size }, () => String.fromCharCode(32 + Math.floor(Math.random() * 95))).join('');

async function gives(size: number) {
  'use step';
  return noise(size);
}

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

export async function bigResultUncaught(size: number) {
  'use workflow';
  return (await gives(size)).length;
}

export async function bigArgument(size: number) {
  'use workflow';
  try {
    return await takes(noise(size));
  } catch (error) {
    return seen(error);
  }
}

/** A sibling that is not too big, and a timer: both are there when the other one is refused. */
export async function bigArgumentBesides(size: number) {
  'use workflow';
  return await Promise.all([takes('small'), sleep('1h'), takes(noise(size))]);
}

export async function bigMetadata(size: number) {
  'use workflow';
  return await createHook<string>({ token: 'big', metadata: { text: noise(size) } });
}

/** Many arguments that are big together and not alone. */
export async function bigTogether(count: number, size: number) {
  'use workflow';
  const lengths = await Promise.all(Array.from({ length: count }, () => takes(noise(size))));
  return lengths.reduce((sum, length) => sum + length, 0);
}

export async function bigOutput(size: number) {
  'use workflow';
  return noise(size);
}
