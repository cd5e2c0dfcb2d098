package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue"
)

// queueMetrics counts what this replica does for the queue; it is a queue.Observer.
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
			Name: "world_redis_queue_wait_seconds", Help: "Time from a message being ready, enqueued or due, to its delivery.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30, 300},
		}, byKind),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "world_redis_queue_delivery_seconds", Help: "Time that a delivery takes.",
			Buckets: []float64{.0025, .01, .05, .1, .5, 1, 5, 30, 60, 300, 1800, 7200},
		}, byKind),
		outcomes: counter("world_redis_queue_outcomes_total",
			"Deliveries by what became of the message: done, failed, moved (the app put it off), stalled (no app answered), returned (cut by us), dead.", "kind", "outcome"),
		redeliveries: counter("world_redis_queue_redeliveries_total",
			"Deliveries that have to be made again, by cause: failed, moved, stalled, returned, or lapsed (the worker has gone).", "kind", "cause"),
		dead:      counter("world_redis_queue_dead_total", "Messages set aside as undeliverable.", "kind"),
		recovered: counter("world_redis_queue_recovered_total", "Messages taken from workers that have gone.", "kind"),
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
