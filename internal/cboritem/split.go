package cboritem

// Split cuts the first item off b, which is a part of an item that is well-formed.
func Split(b []byte) (item, rest []byte, err error) {
	rest, err = skip(b, MaxNesting)
	if err != nil {
		return nil, nil, err
	}
	n := len(b) - len(rest)
	return b[:n:n], rest, nil
}

// skip returns what comes after the first item of b. It only looks for its end: that the item is
// well-formed has been checked with the body.
func skip(b []byte, depth int) (rest []byte, err error) {
	h, b, err := ReadHead(b)
	for err == nil && h.Major == MajorTag && !h.Indefinite() {
		h, b, err = ReadHead(b) // of what is tagged
	}
	if err != nil || depth < 0 {
		return nil, ErrMalformed
	}
	items := uint64(0) // that belong to this one
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
			return nil, ErrMalformed // a break that ends nothing
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
		return nil, ErrMalformed // more than there can be
	}
	for range items {
		if b, err = skip(b, depth-1); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// plainDepth is how deep a plain item goes at most.
const plainDepth = 64

// Plain reports whether b is one well-formed item without anything unusual in it, as nearly every
// body is. It is false for everything that is not well-formed, and for some of what is: ask the library about that.
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
		return nil, false // more than there can be
	}
	for range items {
		if rest, ok = skipPlain(rest, depth-1); !ok {
			return nil, false
		}
	}
	return rest, true
}
