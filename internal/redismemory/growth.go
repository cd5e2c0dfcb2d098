package redismemory

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// day is what growth is counted over.
const day = 24 * time.Hour

// Growth is how fast the node that is full first grows.
type Growth struct {
	Node
	// Known is false if the server does not report its memory, or if there is nothing yet to conclude from.
	Known bool
	// PerDay is the growth in bytes a day; it may be negative.
	PerDay int64
	// Span is how long the growth was measured; 0: it is estimated from the runs of the last day.
	Span time.Duration
	// RunsHour, RunsDay and RunsWeek are the runs of all namespaces, made in the last hour, day and 7 days, and still in Redis.
	RunsHour, RunsDay, RunsWeek int64
	// Runs is how many runs are in Redis.
	Runs int64
	// FullIn is the time until Ceiling is reached at this rate; 0 if it is not known, or never.
	FullIn time.Duration
	// Nodes is how many masters there are.
	Nodes int
}

// longest is how far ahead a forecast may look.
const longest = 100 * 365 * day

// Measure says how fast Redis grows. home is the prefix of the samples, and prefixes are those of all namespaces.
func Measure(ctx context.Context, client redis.UniversalClient, home string, prefixes []string, now world.Millis) (Growth, error) {
	nodes, err := Nodes(ctx, client)
	if err != nil {
		return Growth{}, err
	}
	samples, err := readSamples(ctx, client, home)
	if err != nil {
		return Growth{}, err
	}
	runs, err := countRuns(ctx, client, prefixes, now)
	if err != nil {
		return Growth{}, err
	}
	return forecast(nodes, samples, runs, now), nil
}

// runCounts are numbers of runs: of the last hour, day and week, and of all.
type runCounts struct{ hour, day, week, all int64 }

func countRuns(ctx context.Context, client redis.UniversalClient, prefixes []string, now world.Millis) (runCounts, error) {
	var counts runCounts
	for _, prefix := range prefixes {
		key := prefix + "runs:index"
		since := func(p redis.Pipeliner, ago time.Duration) *redis.IntCmd {
			return p.ZCount(ctx, key, strconv.FormatInt(int64(now)-ago.Milliseconds(), 10), "+inf")
		}
		var cmds [4]*redis.IntCmd
		_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			cmds = [4]*redis.IntCmd{since(p, time.Hour), since(p, day), since(p, 7*day), p.ZCard(ctx, key)}
			return nil
		})
		if err != nil {
			return counts, fmt.Errorf("count the runs: %w", err)
		}
		counts.hour += cmds[0].Val()
		counts.day += cmds[1].Val()
		counts.week += cmds[2].Val()
		counts.all += cmds[3].Val()
	}
	return counts, nil
}

// forecast returns the growth of the node that is full first; of the fullest one if none ever is.
func forecast(nodes []Node, samples []sample, runs runCounts, now world.Millis) Growth {
	var worst Growth
	for i, n := range nodes {
		g := Growth{
			Node: n, Nodes: len(nodes), RunsHour: runs.hour, RunsDay: runs.day, RunsWeek: runs.week, Runs: runs.all,
		}
		g.grow(samples, now)
		if i == 0 || g.before(worst) {
			worst = g
		}
	}
	return worst
}

// before reports whether a node is full before another.
func (g Growth) before(other Growth) bool {
	switch {
	case g.FullIn > 0 && other.FullIn > 0:
		return g.FullIn < other.FullIn
	case g.FullIn > 0 || other.FullIn > 0:
		return g.FullIn > 0
	case g.Known != other.Known:
		return g.Known
	default:
		return g.share() > other.share()
	}
}

func (g Growth) share() float64 {
	if g.Ceiling() == 0 {
		return 0
	}
	return float64(g.Used) / float64(g.Ceiling())
}

// grow sets the rate: what was measured over the last day, or over as much of it as there is; otherwise an estimate.
func (g *Growth) grow(samples []sample, now world.Millis) {
	if g.Used == 0 {
		return
	}
	from, found := startOf(samples, g.Addr, now)
	switch {
	case found:
		g.Known, g.Span = true, time.Duration(now-from.at)*time.Millisecond
		g.PerDay = int64(float64(g.Used-from.used) * float64(day) / float64(g.Span))
	case g.Runs > 0 && g.Start > 0:
		g.Known = true
		g.PerDay = int64(float64(g.Used-g.Start) / float64(g.Runs) * float64(g.RunsDay))
	}
	if left := g.Ceiling() - g.Used; g.Ceiling() > 0 && g.PerDay > 0 {
		days := float64(max(0, left)) / float64(g.PerDay)
		if ahead := days * float64(day); ahead < float64(longest) {
			g.FullIn = max(time.Second, time.Duration(ahead))
		}
	}
}

// startOf returns the sample to compare with: the last one that is at least a day old. With a day of samples less than that, it is
// the oldest one, once that is an hour old.
func startOf(samples []sample, addr string, now world.Millis) (from sample, found bool) {
	for _, s := range samples { // oldest first
		age := time.Duration(now-s.at) * time.Millisecond
		if s.addr != addr || age < sampleEvery {
			continue
		}
		if !found || age >= day {
			from, found = s, true
		}
	}
	return from, found
}

// String says it in a sentence.
func (g Growth) String() string {
	who := "Redis"
	if g.Nodes > 1 {
		who = "node " + g.Addr
	}
	if g.Used == 0 {
		return "how fast Redis grows is unknown: the server does not report its memory (INFO memory)"
	}
	if !g.Known {
		return fmt.Sprintf("%s uses %s; how fast it grows is known after an hour", who, Bytes(g.Used))
	}
	runs := number(g.RunsDay) + " runs"
	if g.RunsDay == 1 {
		runs = "1 run"
	}
	if g.PerDay < 1<<20 && g.FullIn == 0 || g.PerDay <= 0 {
		return fmt.Sprintf("%s does not grow noticeably (%s in the last day); it uses %s%s", who, runs, Bytes(g.Used), g.of())
	}
	text := fmt.Sprintf("%s grows by %s a day (%s)", who, Bytes(g.PerDay), runs)
	switch {
	case g.Span == 0:
		text = fmt.Sprintf("%s grows by about %s a day (%s of %s on average)", who, Bytes(g.PerDay), runs, Bytes((g.Used-g.Start)/g.Runs))
	case g.Span < day-sampleEvery:
		text += " at the rate of the last " + about(g.Span)
	}
	switch {
	case g.Limit > 0 && g.FullIn > 0:
		text += fmt.Sprintf("; maxmemory of %s is reached in %s", Bytes(g.Limit), about(g.FullIn))
	case g.FullIn > 0:
		text += fmt.Sprintf("; no maxmemory is set, and the machine's %s are full in %s", Bytes(g.Machine), about(g.FullIn))
	case g.Ceiling() == 0:
		text += fmt.Sprintf("; it uses %s, no maxmemory is set, and the server does not report the machine's memory, so it is unknown when it is full", Bytes(g.Used))
	}
	return text
}

// of says how much of the limit is used.
func (g Growth) of() string {
	if g.Limit == 0 {
		return ", and no maxmemory is set"
	}
	return fmt.Sprintf(" of %s", Bytes(g.Limit))
}

// about writes a time in whole days, or hours below two days, or minutes below two hours.
func about(d time.Duration) string {
	switch {
	case d >= 2*day:
		return number(int64(d/day)) + " days"
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	default:
		return "a minute"
	}
}

// Bytes writes a size with two or three digits: 310 MB, 4.0 GB. A MB is 1,048,576 bytes, as in Redis's settings.
func Bytes(n int64) string {
	value, unit := float64(n), 0
	for units := []string{"bytes", "KB", "MB", "GB", "TB"}; ; unit++ {
		if value < 1024 && value > -1024 || unit == len(units)-1 {
			if value < 10 && value > -10 && unit > 0 {
				return fmt.Sprintf("%.1f %s", value, units[unit])
			}
			return fmt.Sprintf("%.0f %s", value, units[unit])
		}
		value /= 1024
	}
}

// number writes 80,000.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	var out strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	return out.String()
}
