package format

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// MaxItem is the largest item that is read, in bytes: a value has at most 64 MiB by default, and a run has four of them.
const MaxItem = 1 << 30

// DamagedError means that a file is damaged or truncated.
type DamagedError struct {
	File   string
	Offset int64 // in the file, in compressed bytes, where the member begins that is damaged
	At     int64 // how far it was read
	Err    error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged: the run that begins at byte %d cannot be read beyond byte %d: %v", e.File, e.Offset, e.At, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// NewerError means that a file was written by a newer build.
type NewerError struct {
	File    string
	Version int64
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has version %d of the format, and this build of world-redis reads versions up to %d: use a newer one", e.File, e.Version, Version)
}

// Reader reads the runs of a file one after the other.
type Reader struct {
	file    string
	source  *counted
	in      *bufio.Reader
	z       *gzip.Reader
	begin   int64 // of the member
	inside  bool  // a member is not read to its end
	content *bufio.Reader
	n       counts
	item    bytes.Buffer
}

// counted counts what is read.
type counted struct {
	from io.Reader
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// NewReader reads runs from r; file names it in errors.
func NewReader(r io.Reader, file string) *Reader {
	source := &counted{from: r}
	return &Reader{file: file, source: source, in: bufio.NewReaderSize(source, 64<<10)}
}

// Offset is how many bytes of the file were used: after Skip or the last part of a run, where the next run begins.
func (r *Reader) Offset() int64 { return r.source.n - int64(r.in.Buffered()) }

// Next returns the next run, or io.EOF. The parts of the run before are skipped if they were not read.
func (r *Reader) Next() (Header, world.Run, error) {
	if err := r.Skip(); err != nil {
		return Header{}, world.Run{}, err
	}
	r.begin = r.Offset()
	if _, err := r.in.Peek(1); errors.Is(err, io.EOF) {
		return Header{}, world.Run{}, io.EOF
	}
	h, run, err := r.start()
	return h, run, r.damaged(err)
}

func (r *Reader) start() (h Header, run world.Run, err error) {
	if r.z == nil {
		r.z, err = gzip.NewReader(r.in)
	} else {
		err = r.z.Reset(r.in)
	}
	if err != nil {
		return h, run, err
	}
	r.z.Multistream(false)
	if r.content == nil {
		r.content = bufio.NewReaderSize(r.z, 32<<10)
	} else {
		r.content.Reset(r.z)
	}
	r.inside, r.n = true, counts{}
	kind, fields, err := r.next()
	if err != nil {
		return h, run, err
	}
	if h, err = decodeHeader(kind, fields); err != nil {
		return h, run, err
	}
	if h.Version > Version {
		return h, run, &NewerError{File: r.file, Version: int64(h.Version)}
	}
	if kind, fields, err = r.next(); err == nil && kind != kindRun {
		err = fmt.Errorf("there is an item %q in place of the run", kind)
	}
	if err != nil {
		return h, run, err
	}
	run, err = decodeRun(fields)
	return h, run, err
}

// Part returns the next part of the run that Next has returned, or io.EOF at its end, which says that nothing is missing and the
// checksum is right.
func (r *Reader) Part() (world.RunPart, error) {
	if !r.inside {
		return world.RunPart{}, io.EOF
	}
	part, err := r.part()
	if errors.Is(err, io.EOF) {
		r.inside = false
		return part, io.EOF
	}
	return part, r.damaged(err)
}

func (r *Reader) part() (world.RunPart, error) {
	kind, fields, err := r.next()
	if err != nil {
		return world.RunPart{}, err
	}
	if kind == kindEnd {
		return world.RunPart{}, r.finish(fields)
	}
	return decodePart(kind, fields, &r.n)
}

// finish reads the end of a member: its counts, and the checksum.
func (r *Reader) finish(fields []byte) error {
	want, err := decodeEnd(fields)
	if err != nil {
		return err
	}
	if want != r.n {
		return fmt.Errorf("the end counts %+v, and there are %+v", want, r.n)
	}
	if _, err := r.content.ReadByte(); err == nil {
		return errors.New("there is something after the end")
	} else if !errors.Is(err, io.EOF) {
		return err // of the checksum
	}
	return io.EOF
}

// Skip goes to the end of the run, and checks it.
func (r *Reader) Skip() error {
	for r.inside {
		if _, err := r.Part(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// next reads an item.
func (r *Reader) next() (kind string, fields []byte, err error) {
	if _, err := r.head(cboritem.MajorTag, encodedItem); err != nil {
		return "", nil, err
	}
	n, err := r.head(cboritem.MajorBytes, MaxItem)
	if err != nil {
		return "", nil, err
	}
	r.item = bytes.Buffer{} // parts keep what they refer to
	// The length may be wrong: memory grows with what is there.
	if got, err := r.item.ReadFrom(io.LimitReader(r.content, int64(n))); err != nil || got != int64(n) {
		return "", nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return splitItem(r.item.Bytes())
}

// head reads the head of an item of a type whose number is at most most.
func (r *Reader) head(major byte, most uint64) (uint64, error) {
	first, err := r.content.ReadByte()
	if err != nil {
		return 0, unexpected(err)
	}
	head := []byte{first}
	if info := first & 31; info >= 24 && info <= 27 {
		for range 1 << (info - 24) {
			b, err := r.content.ReadByte()
			if err != nil {
				return 0, unexpected(err)
			}
			head = append(head, b)
		}
	}
	h, _, err := cboritem.ReadHead(head)
	if err != nil {
		return 0, err
	}
	if h.Major != major || h.Indefinite() || h.N > most || major == cboritem.MajorTag && h.N != most {
		return 0, errors.New("an item is no encoded CBOR item, or too large")
	}
	return h.N, nil
}

// unexpected is the error of a file that ends where an item is missing.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// damaged says where the file is damaged.
func (r *Reader) damaged(err error) error {
	var newer *NewerError
	if err == nil || errors.As(err, &newer) {
		return err
	}
	r.inside = false
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("it ends too early")
	}
	return &DamagedError{File: r.file, Offset: r.begin, At: r.Offset(), Err: err}
}
