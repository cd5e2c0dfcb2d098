package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue"
)

// queueMetrics counts this replica's work for the queue; it is a queue.Observer.
type queueMetrics struct {
	waited, took *prometheus.HistogramVec
	outcomes     *prometheus.CounterVec
	redeliveries *prometheus.CounterVec
	dead         *prometheus.CounterVec
	recovered    *prometheus.CounterVec
}

var _ queue.Observer = (*queueMetrics)(nil)

func newQueueMetrics() *queueMetrics {
	byKind := []string{"kind"}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &queueMetrics{
		waited: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "world_redis_queue_wait_seconds", Help: "Time from when a message is ready (enqueued or due) to its delivery.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30, 300},
		}, byKind),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "world_redis_queue_delivery_seconds", Help: "Duration of deliveries.",
			Buckets: []float64{.0025, .01, .05, .1, .5, 1, 5, 30, 60, 300, 1800, 7200},
		}, byKind),
		outcomes: counter("world_redis_queue_outcomes_total",
			"Deliveries by outcome: done, failed, moved (rescheduled by the app), stalled (waits for an app), crowded (the app has no capacity), apart (a suspect set aside), returned (cut by the service), dead.", "kind", "outcome"),
		redeliveries: counter("world_redis_queue_redeliveries_total",
			"Deliveries that must be repeated, by cause: failed, moved, stalled, crowded, apart, returned, or lapsed (the worker is gone).", "kind", "cause"),
		dead:      counter("world_redis_queue_dead_total", "Messages that were dead-lettered.", "kind"),
		recovered: counter("world_redis_queue_recovered_total", "Messages taken over from lost workers.", "kind"),
	}
	for _, kind := range []world.Kind{world.KindFlow, world.KindStep} {
		// Rates and alerts need the zero.
		m.dead.WithLabelValues(string(kind))
		m.recovered.WithLabelValues(string(kind))
	}
	return m
}

func (m *queueMetrics) register(r prometheus.Registerer) {
	r.MustRegister(m.waited, m.took, m.outcomes, m.redeliveries, m.dead, m.recovered)
}

// Waited implements queue.Observer.
func (m *queueMetrics) Waited(kind world.Kind, wait time.Duration) {
	m.waited.WithLabelValues(string(kind)).Observe(max(0, wait.Seconds()))
}

// Ended implements queue.Observer.
func (m *queueMetrics) Ended(kind world.Kind, outcome string, took time.Duration) {
	m.took.WithLabelValues(string(kind)).Observe(took.Seconds())
	m.outcomes.WithLabelValues(string(kind), outcome).Inc()
	switch outcome {
	case "done":
	case "dead":
		m.dead.WithLabelValues(string(kind)).Inc()
	default:
		m.redeliveries.WithLabelValues(string(kind), outcome).Inc()
	}
}

// Recovered implements queue.Observer.
func (m *queueMetrics) Recovered(kind world.Kind) {
	m.recovered.WithLabelValues(string(kind)).Inc()
	m.redeliveries.WithLabelValues(string(kind), "lapsed").Inc()
}
