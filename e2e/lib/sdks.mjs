// @ts-check
// The SDK versions whose apps the tests run; E2E_SDK=v5 runs one of them alone.
export const sdks = process.env.E2E_SDK ? [process.env.E2E_SDK] : ['v4', 'v5'];
