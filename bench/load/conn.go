package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

// conn is one keep-alive connection of one caller, without the goroutines of http.Transport: a load generator that
// shares two cores with the service must be cheap.
type conn struct {
	host string
	net  net.Conn
	in   *bufio.Reader
	out  []byte
}

func dial(ctx context.Context, address string) (*conn, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return &conn{host: u.Host, net: c, in: bufio.NewReader(c)}, nil
}

// post sends a CBOR body and reads the whole answer, whose status must be 200.
func (c *conn) post(path string, body []byte) error {
	return c.send(path, "application/cbor", body)
}

func (c *conn) send(path, contentType string, body []byte) error {
	c.out = append(c.out[:0], "POST "...)
	c.out = append(c.out, path...)
	c.out = append(c.out, " HTTP/1.1\r\nHost: "...)
	c.out = append(c.out, c.host...)
	c.out = append(c.out, "\r\nContent-Type: "...)
	c.out = append(c.out, contentType...)
	c.out = append(c.out, "\r\nContent-Length: "...)
	c.out = strconv.AppendInt(c.out, int64(len(body)), 10)
	c.out = append(c.out, "\r\n\r\n"...)
	c.out = append(c.out, body...)
	if _, err := c.net.Write(c.out); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("%s answered %s: %s", path, answer.Status, text)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
