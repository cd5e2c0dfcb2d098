// @ts-check
// The Redis Cluster slot of a hash tag (CRC16, XMODEM).
const SLOTS = 16_384;

export function slotOf(tag) {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let i = 0; i < 8; i++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc % SLOTS;
}
