package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/world-redis/world-redis/queue"
)

// scrapeTimeout bounds what one scrape may ask of Redis.
const scrapeTimeout = 2 * time.Second

// depthCollector asks the queues for their depths at every scrape, so that the figures are
// those of Redis and the same on every replica.
type depthCollector struct {
	depths func(context.Context) ([]queue.Depth, error)
	log    *slog.Logger
	desc   *prometheus.Desc
}

// metricsHandler serves /metrics from a registry of its own.
func metricsHandler(q *queue.Queue, log *slog.Logger) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		depthCollector{depths: q.Depths, log: log, desc: prometheus.NewDesc("world_redis_queue_messages",
			"Messages in a queue, by state.", []string{"queue", "state"}, nil)},
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// Describe implements prometheus.Collector.
func (c depthCollector) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect implements prometheus.Collector.
func (c depthCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	depths, err := c.depths(ctx)
	if err != nil {
		c.log.Warn("the queue depths are missing from /metrics", slog.Any("error", err))
		return
	}
	for _, d := range depths {
		for state, n := range map[string]int64{
			"pending": d.Pending, "active": d.Active, "scheduled": d.Scheduled,
			"retry": d.Retry, "stalled": d.Stalled, "dead": d.Dead,
		} {
			out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), d.Queue, state)
		}
	}
}
