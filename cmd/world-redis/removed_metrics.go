package main

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	removedDesc = prometheus.NewDesc("world_redis_runs_removed_total", "Runs that this replica has removed, by reason.", []string{"reason"}, nil)
	dueDesc     = prometheus.NewDesc("world_redis_runs_due_seconds", "How long the run that has been due for the longest time waits for its removal; 0 if none waits.", nil, nil)
	lagDesc     = prometheus.NewDesc("world_redis_archive_lag_seconds", "How long the run waits that is due for the longest time and not archived; 0 if none waits. Only with an archive.", nil, nil)
)

// removedCollector reads at every scrape how many runs were removed, and how long others wait for that.
type removedCollector struct {
	tenant *tenant
	log    *slog.Logger
}

// Describe implements prometheus.Collector.
func (removedCollector) Describe(out chan<- *prometheus.Desc) {
	out <- removedDesc
	out <- dueDesc
	out <- lagDesc
}

// Collect implements prometheus.Collector.
func (c removedCollector) Collect(out chan<- prometheus.Metric) {
	for reason, n := range c.tenant.store.RunsRemoved() {
		out <- prometheus.MustNewConstMetric(removedDesc, prometheus.CounterValue, float64(n), string(reason))
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	waits, err := c.tenant.store.DueFor(ctx)
	if err != nil {
		c.log.Warn("the time that due runs wait is missing from /metrics", slog.Any("error", err))
		return
	}
	out <- prometheus.MustNewConstMetric(dueDesc, prometheus.GaugeValue, waits.Seconds())
	if c.tenant.archive != nil {
		out <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, waits.Seconds())
	}
}
