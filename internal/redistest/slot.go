package redistest

// Slot returns the Redis Cluster slot of a key, according to its hash tag.
func Slot(key string) int {
	for i := range len(key) {
		if key[i] != '{' {
			continue
		}
		for j := i + 1; j < len(key); j++ {
			if key[j] == '}' {
				if j > i+1 {
					key = key[i+1 : j]
				}
				return int(crc16(key)) % 16384
			}
		}
		break
	}
	return int(crc16(key)) % 16384
}

// crc16 is CRC-16/XMODEM, the checksum of the cluster specification.
func crc16(s string) uint16 {
	var crc uint16
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
