package cboritem

// Split returns the first item of b, which is part of a well-formed item, and the rest.
func Split(b []byte) (item, rest []byte, err error) {
	rest, err = skip(b, MaxNesting)
	if err != nil {
		return nil, nil, err
	}
	n := len(b) - len(rest)
	return b[:n:n], rest, nil
}

// skip returns the bytes after the first item of b. It only finds the end: the body was already checked to be
// well-formed.
func skip(b []byte, depth int) (rest []byte, err error) {
	h, b, err := ReadHead(b)
	for err == nil && h.Major == MajorTag && !h.Indefinite() {
		h, b, err = ReadHead(b) // of the tagged item
	}
	if err != nil || depth < 0 {
		return nil, ErrMalformed
	}
	items := uint64(0) // number of items in this one
	switch h.Major {
	case MajorBytes, MajorText:
		if h.Indefinite() {
			break
		}
		if h.N > uint64(len(b)) {
			return nil, ErrMalformed
		}
		return b[h.N:], nil
	case MajorArray:
		items = h.N
	case MajorMap:
		items = 2 * h.N
	default:
		if h.Indefinite() {
			return nil, ErrMalformed // a break without an indefinite item
		}
		return b, nil
	}
	if h.Indefinite() {
		for len(b) > 0 && b[0] != Break {
			if b, err = skip(b, depth-1); err != nil {
				return nil, err
			}
		}
		if len(b) == 0 {
			return nil, ErrMalformed
		}
		return b[1:], nil
	}
	if items > 2*uint64(len(b)) || h.N > uint64(len(b)) {
		return nil, ErrMalformed // more than b can contain
	}
	for range items {
		if b, err = skip(b, depth-1); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// plainDepth is the deepest nesting of a plain item.
const plainDepth = 64

// Plain reports whether b is one well-formed item of common types, as nearly every body is. It is false for
// everything malformed, and for some well-formed items: the library decides about those.
func Plain(b []byte) bool {
	rest, ok := skipPlain(b, plainDepth)
	return ok && len(rest) == 0
}

func skipPlain(b []byte, depth int) (rest []byte, ok bool) {
	h, rest, err := ReadHead(b)
	if err != nil || h.Indefinite() || depth == 0 {
		return nil, false
	}
	items := h.N
	switch h.Major {
	case MajorBytes, MajorText:
		if h.N > uint64(len(rest)) {
			return nil, false
		}
		return rest[h.N:], true
	case MajorUint, MajorNegint:
		return rest, true
	case MajorSimple:
		return rest, h.Info != 24 // a simple value of two bytes
	case MajorTag:
		items = 1
	case MajorMap:
		items *= 2
	}
	if h.Major != MajorTag && h.N > uint64(len(rest)) {
		return nil, false // more than b can contain
	}
	for range items {
		if rest, ok = skipPlain(rest, depth-1); !ok {
			return nil, false
		}
	}
	return rest, true
}
