// @ts-check
/** The packages that the client's file holds: development dependencies here, and all the same what users run (`make vuln`). */
export const BUNDLED = ['cbor-x', 'ws'];
