package main

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/world-redis/world-redis/queue"
)

// scrapeTimeout limits the Redis calls of one scrape.
const scrapeTimeout = 2 * time.Second

// depthCollector reads the depths of the queues at every scrape, so the figures are those of Redis and the same on
// every replica.
type depthCollector struct {
	depths func(context.Context) ([]queue.Depth, error)
	log    *slog.Logger
	desc   *prometheus.Desc // messages
	oldest *prometheus.Desc
	paused *prometheus.Desc
}

// metrics serves /metrics from its own registry.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
}

// newMetrics collects the metrics of every tenant. With namespaces, a label names the tenant; without, there is no
// such label.
func newMetrics(tenants []*tenant, log *slog.Logger) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "world_redis_http_request_seconds", Help: "Time to answer a request, by route and status.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .1, .5, 2.5, 10},
		}, []string{"method", "route", "status"}),
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests,
	)
	if memory := tenants[0].memory; memory != nil {
		m.registry.MustRegister(newMemoryCollector(memory, log))
	}
	for _, t := range tenants {
		r := m.ofTenant(t, len(tenants) > 1)
		t.observer.register(r)
		r.MustRegister(
			counterOf("world_redis_runs_lost_total", "Runs that were failed because events are missing from their logs; the service's log names them.",
				func() int64 { return t.store.Stats().RunsLost }),
			counterOf("world_redis_steps_mended_total", "Steps that did not match their events and were repaired; the service's log names them.",
				func() int64 { return t.store.Stats().StepsMended }),
			counterOf("world_redis_runs_woken_total", "Runs that nothing scheduled would have woken and that were woken; the service's log names them.", t.woken.Load),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "world_redis_leader", Help: "1 while this replica does the background work of its namespace; only one replica does.",
			}, func() float64 { return float64(min(1, t.lease.Term())) }),
			removedCollector{tenant: t, log: log},
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "world_redis_older_replicas", Help: "Replicas of older builds that are alive, as of the last removal of a run; no run is removed while there are some.",
			}, func() float64 { return float64(t.builds.older.Load()) }),
			depthCollector{
				depths: t.queue.Depths, log: log, desc: prometheus.NewDesc("world_redis_queue_messages",
					"Messages in a queue, by state.", []string{"queue", "state"}, nil),
				oldest: prometheus.NewDesc("world_redis_queue_oldest_pending_seconds",
					"How long the oldest ready message has waited for its delivery; 0 if there is none.", []string{"queue"}, nil),
				paused: prometheus.NewDesc("world_redis_queue_paused", "1 while an operator has paused the queue.", []string{"queue"}, nil),
			},
		)
	}
	return m
}

func counterOf(name, help string, count func() int64) prometheus.CounterFunc {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(count()) })
}

// ofTenant returns where a tenant's metrics are registered.
func (m *metrics) ofTenant(t *tenant, labelled bool) prometheus.Registerer {
	if !labelled {
		return m.registry
	}
	return prometheus.WrapRegistererWith(prometheus.Labels{"namespace": cmp.Or(t.name, "default")}, m.registry)
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// observe counts a request. The route is a pattern, so ids do not become labels, and neither does an unknown method.
func (m *metrics) observe(method, route string, status int, took time.Duration) {
	if route == "" {
		method, route = "any", "none"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

// Describe implements prometheus.Collector.
func (c depthCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.desc
	out <- c.oldest
	out <- c.paused
}

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
			"retry": d.Retry, "stalled": d.WaitingForApp, "dead": d.Dead,
		} {
			out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), d.Queue, state)
		}
		age, paused := 0.0, 0.0
		if d.Oldest != 0 {
			age = max(0, time.Since(d.Oldest.Time()).Seconds())
		}
		if d.Paused {
			paused = 1
		}
		out <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, age, d.Queue)
		out <- prometheus.MustNewConstMetric(c.paused, prometheus.GaugeValue, paused, d.Queue)
	}
}
