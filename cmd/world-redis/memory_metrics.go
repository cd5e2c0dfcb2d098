package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redismemory"
)

// growthFor is how long a scrape shows the same growth.
const growthFor = time.Minute

// newMemory returns what records how much memory Redis uses. The leader of the default namespace does it for all; a Redis that is
// embedded has no limit and ends with the process, so there it returns nil.
func newMemory(conn *redisconn.Conn, tenants []*tenant, c config, clock world.Clock, logger *slog.Logger) *redismemory.Recorder {
	if conn.Mode == redisconn.Embedded {
		return nil
	}
	prefixes := make([]string, len(tenants))
	for i, t := range tenants {
		prefixes[i] = t.keyPrefix
	}
	return redismemory.New(redismemory.Config{
		Redis: conn.Client, Home: prefixes[0], Prefixes: prefixes, Leadership: tenants[0].lease, Clock: clock, Logger: logger, Kept: c.keepsRuns(),
	})
}

// memoryCollector shows how full Redis is, of a cluster the node that is full first.
type memoryCollector struct {
	memory *redismemory.Recorder
	log    *slog.Logger

	used, limit, growth, full *prometheus.Desc

	mu   sync.Mutex
	last redismemory.Growth
	at   time.Time
}

func newMemoryCollector(memory *redismemory.Recorder, log *slog.Logger) *memoryCollector {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &memoryCollector{
		memory: memory, log: log,
		used:   desc("world_redis_redis_memory_bytes", "Memory that Redis uses (used_memory), as all of these of the master that is full first."),
		limit:  desc("world_redis_redis_memory_limit_bytes", "maxmemory of Redis; without that the memory of its machine. Absent if neither is known."),
		growth: desc("world_redis_redis_memory_growth_bytes_per_day", "How fast the used memory grows, measured over the last day, or as much of it as is known; may be negative."),
		full:   desc("world_redis_redis_memory_full_seconds", "Time until the limit is reached at this rate; absent if it is not."),
	}
}

// Describe implements prometheus.Collector.
func (c *memoryCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.used, c.limit, c.growth, c.full} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *memoryCollector) Collect(out chan<- prometheus.Metric) {
	g, err := c.measure()
	var refused redis.Error
	if err != nil {
		if !errors.As(err, &refused) {
			c.log.Warn("the memory of Redis is missing from /metrics", slog.Any("error", err))
		}
		return
	}
	gauge := func(desc *prometheus.Desc, value float64) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
	}
	if g.Used > 0 {
		gauge(c.used, float64(g.Used))
	}
	if g.Ceiling() > 0 {
		gauge(c.limit, float64(g.Ceiling()))
	}
	if g.Known {
		gauge(c.growth, float64(g.PerDay))
	}
	if g.FullIn > 0 {
		gauge(c.full, g.FullIn.Seconds())
	}
}

func (c *memoryCollector) measure() (redismemory.Growth, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < growthFor {
		return c.last, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	g, err := c.memory.Measure(ctx)
	if err == nil {
		c.last, c.at = g, time.Now()
	}
	return g, err
}

// keepsRuns reports whether finished runs stay in Redis for ever.
func (c config) keepsRuns() bool { return c.Retention == "" }
