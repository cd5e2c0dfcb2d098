package streamcmd

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// longestLine is larger than an event with the largest chunk, in bytes.
const longestLine = 256 << 20

// errEnded means that the stream has ended.
var errEnded = errors.New("the stream has ended")

// continued means that the stream has an end and continues after it, because the step that closed it ran again.
type continued struct{ next int64 }

func (c continued) Error() string { return fmt.Sprintf("the stream continues at %d", c.next) }

// refusal is an answer of the service that a retry would not change.
type refusal struct{ text, code string }

func (r refusal) Error() string { return r.text }

// follow prints events until the last end. After a broken connection it continues behind the last printed event.
func (t *tail) follow(ctx context.Context) error {
	if err := t.checkRun(ctx); err != nil {
		return err
	}
	reported := false
	for ctx.Err() == nil {
		before := t.last
		err := t.read(ctx)
		var refused refusal
		var more continued
		switch {
		case errors.Is(err, errEnded):
			return nil
		case errors.As(err, &more):
			t.from, t.last = more.next, ""
			_, _ = fmt.Fprintf(t.errOut, "world-redis: the stream was closed here; a later attempt of its step writes again from index %d\n", more.next)
			continue
		case errors.As(err, &refused):
			return err
		case before == "" && t.last == "" && !reported && ctx.Err() == nil:
			reported = true
			_, _ = fmt.Fprintf(t.errOut, "world-redis: %v; trying again\n", err)
		case before != t.last:
			reported = false
		}
		timer := time.NewTimer(t.pause)
		select {
		case <-timer.C:
		case <-ctx.Done(): // Ctrl-C
			timer.Stop()
		}
	}
	return nil
}

// checkRun checks whether the run exists if the stream's name does not contain it. For a run's own streams, the read
// itself is refused. Any other error is reported by the read.
func (t *tail) checkRun(ctx context.Context) error {
	if strings.HasPrefix(t.name, ownStream(t.run)) || strings.HasPrefix(t.name, healthCheck) {
		return nil
	}
	err := t.get(ctx, "", "application/json", func(io.Reader) error { return nil })
	var refused refusal
	if errors.As(err, &refused) && refused.code == "run_not_found" {
		return err
	}
	return nil
}

// read opens one connection and prints the events that it receives.
func (t *tail) read(ctx context.Context) error {
	return t.get(ctx, fmt.Sprintf("/%s?startIndex=%d", url.PathEscape(t.name), t.from), "text/event-stream", t.events)
}

// get requests a path below the run's streams.
func (t *tail) get(ctx context.Context, path, form string, use func(io.Reader) error) error {
	address := fmt.Sprintf("%s/v1/runs/%s/streams%s", t.url, url.PathEscape(t.run), path)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return refusal{text: err.Error()}
	}
	req.Header.Set("Accept", form)
	if t.token != "" {
		req.Header.Set("Authorization", "Bearer "+t.token)
	}
	if t.last != "" {
		req.Header.Set("Last-Event-ID", t.last)
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return fmt.Errorf("the service at %s cannot be reached: %w", t.url, err)
	}
	defer func() { _ = resp.Body.Close() }() // nothing more is needed
	if resp.StatusCode != http.StatusOK {
		return t.answered(resp)
	}
	return use(resp.Body)
}

func (t *tail) answered(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // whatever there is of it
	var answer struct {
		Error struct{ Message, Code string }
	}
	text := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &answer) == nil && answer.Error.Message != "" {
		text = answer.Error.Message
	}
	err := fmt.Errorf("the service answers %s: %s", resp.Status, text)
	switch {
	case answer.Error.Code == "run_not_found":
		return refusal{text: "no such run: " + t.run, code: answer.Error.Code}
	case resp.StatusCode >= http.StatusInternalServerError:
		return err
	}
	return refusal{text: err.Error()}
}

// events prints the events of one answer.
func (t *tail) events(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, longestLine)
	var event, id, data string
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case lines.Text() == "":
			if event == "end" {
				return ended(data)
			}
			if data != "" {
				if err := t.print(event, id, data); err != nil {
					return refusal{text: err.Error()}
				}
				t.last = id
			}
			event, id, data = "", "", ""
		case field == "event":
			event = value
		case field == "id":
			id = value
		case field == "data":
			data = value
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("the connection broke: %w", err)
	}
	return io.ErrUnexpectedEOF
}

// ended reads the event of an end.
func ended(data string) error {
	var end struct{ Next int64 }
	if json.Unmarshal([]byte(data), &end) == nil && end.Next > 0 {
		return continued{end.Next}
	}
	return errEnded
}

func (t *tail) print(event, id, data string) error {
	if !t.raw {
		if event == "bytes" {
			var encoded string
			_ = json.Unmarshal([]byte(data), &encoded) // the service wrote it
			data = fmt.Sprintf("(%d bytes that cannot be shown)", base64.StdEncoding.DecodedLen(len(encoded))-strings.Count(encoded, "="))
		}
		_, err := fmt.Fprintf(t.out, "%s\t%s\n", id, data)
		return err
	}
	var text string
	if json.Unmarshal([]byte(data), &text) != nil {
		text = data + "\n" // the value is not a text
	} else if event == "bytes" {
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fmt.Errorf("chunk %s: %s", strconv.Quote(id), err.Error())
		}
		text = string(decoded)
	}
	_, err := io.WriteString(t.out, text)
	return err
}
