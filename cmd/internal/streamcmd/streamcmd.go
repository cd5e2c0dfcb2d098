// Package streamcmd is the command `world-redis stream`, which shows the streams of a running service through its
// HTTP API.
package streamcmd

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/world-redis/world-redis/cmd/internal/httpproxy"
	"github.com/world-redis/world-redis/internal/ids"
)

const defaultURL = "http://127.0.0.1:8787"

// New returns the command. getenv reads the environment: WORKFLOW_WORLD_URL and WORKFLOW_WORLD_TOKEN are the flags'
// defaults.
func New(getenv func(string) string) *cobra.Command {
	cmd := &cobra.Command{Use: "stream", Short: "Watch the streams of runs"}
	cmd.AddCommand(tailCommand(getenv))
	return cmd
}

func tailCommand(getenv func(string) string) *cobra.Command {
	t := tail{pause: time.Second}
	cmd := &cobra.Command{
		Use:   "tail RUN [NAME]",
		Short: "Print a stream as it is written, until it ends",
		Long: "Prints the chunks of a stream, and further ones as the run writes them, until the stream ends.\n" +
			"If a step closed the stream and ran again, its chunks after that end are printed, too, after a line that says so.\n" +
			"NAME is the namespace that the app gave to getWritable, or the whole name of any stream (strm_…);\n" +
			"without it, the run's default stream. A broken connection is opened again, and no chunk is printed twice.",
		Example: "  world-redis stream tail wrun_01K8…\n  world-redis stream tail wrun_01K8… logs --raw",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 2 {
				name = args[1]
			}
			var err error
			if t.run, t.name, err = target(args[0], name); err != nil {
				return err
			}
			t.url = strings.TrimRight(t.url, "/")
			t.token, _, _ = strings.Cut(cmp.Or(t.token, getenv("WORKFLOW_WORLD_TOKEN")), ",")
			proxy, err := httpproxy.Parse(getenv(httpproxy.Variable))
			if err != nil {
				return err
			}
			t.client = &http.Client{Transport: &http.Transport{Proxy: proxy, DisableKeepAlives: true}}
			t.out, t.errOut = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return t.follow(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&t.url, "url", cmp.Or(getenv("WORKFLOW_WORLD_URL"), defaultURL), "address of the service; WORKFLOW_WORLD_URL")
	flags.StringVar(&t.token, "token", "", "token of the service; WORKFLOW_WORLD_TOKEN")
	flags.Int64Var(&t.from, "from", 0, "index of the first chunk; negative: counted back from the current end")
	flags.BoolVar(&t.raw, "raw", false, "print texts and bytes unchanged, without index and line end")
	return cmd
}

// target returns the run and the stream that the arguments name (contract §6.1).
func target(run, name string) (runID, stream string, err error) {
	if _, ok := ids.Time("wrun_", run); !ok && !strings.HasPrefix(name, healthCheck) {
		return "", "", fmt.Errorf("%q is not a run id: a run id is wrun_ and 26 letters and digits", run)
	}
	switch {
	case name == "":
		return run, ownStream(run), nil
	case strings.HasPrefix(name, "strm_"), strings.HasPrefix(name, "__"):
		return run, name, nil
	default:
		return run, ownStream(run) + "_" + base64.RawURLEncoding.EncodeToString([]byte(name)), nil
	}
}

// ownStream is a run's default stream. The names of its other streams begin with it.
func ownStream(run string) string { return "strm_" + strings.TrimPrefix(run, "wrun_") + "_user" }

// healthCheck begins the names of streams that belong to no run.
const healthCheck = "__health_check__"

// tail is one execution of the command.
type tail struct {
	url, token, run, name string
	from                  int64
	raw                   bool
	out, errOut           io.Writer
	client                *http.Client
	pause                 time.Duration // before a reconnect

	last string // id of the last event that was printed
}
