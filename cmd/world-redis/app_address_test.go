package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// BR-24: the app uses https, with a certificate of a private CA, and a base path. Deliveries and webhooks reach it once
// the CA is configured; until then the reason says which address fails, and why.
func TestBR24PrivateAuthorityAndBasePath(t *testing.T) {
	t.Parallel()
	paths := make(chan string, 10)
	app := httptest.NewUnstartedServer(healthy(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	app.Config.ErrorLog = log.New(io.Discard, "", 0) // it does not like to be distrusted
	app.StartTLS()
	t.Cleanup(app.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: app.Certificate().Raw}), 0o600))

	r, environ := redisOf(t)
	environ = append(environ, "WORKFLOW_BASE_URL="+app.URL+"/v2")
	base, _, stop := startService(t, environ...)
	runID := newRun(t, base, "")
	post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_step_s","message":{"workflowRunId":%q,"stepId":"step_1"}}`, runID))
	require.Eventually(t, func() bool {
		_, text := get(t, base+"/v1/runs/"+runID+"/messages")
		return strings.Contains(text, app.URL+"/v2/.well-known/workflow/v1/step") && strings.Contains(text, "add its CA (WORKFLOW_WORLD_APP_CA)")
	}, time.Minute, 10*time.Millisecond)
	post(t, base+"/v1/runs/"+runID+"/events", `{"event":{"eventType":"hook_created","specVersion":7,"correlationId":"hook_1","eventData":{"token":"tok"}}}`)
	const webhook = "/.well-known/workflow/v1/webhook/tok"
	status, text := send(t, base+webhook, `{}`)
	require.Equal(t, http.StatusServiceUnavailable, status, text)
	require.NoError(t, stop())
	require.Empty(t, paths)

	base, _, stop = startService(t, append(environ, "WORKFLOW_WORLD_APP_CA="+file)...)
	require.Equal(t, "/v2/.well-known/workflow/v1/step", <-paths)
	require.Eventually(t, allDone(t, base, 1), time.Minute, 10*time.Millisecond)
	require.Empty(t, leftOfMessages(t, r.Client, r.Prefix))
	status, text = send(t, base+webhook, `{}`)
	require.Equal(t, http.StatusOK, status, text)
	require.JSONEq(t, `{"ok":true}`, text)
	require.Equal(t, "/v2"+webhook, <-paths)
	status, text = send(t, base+webhook+"_of_nobody", `{}`)
	require.Equal(t, http.StatusNotFound, status, text)
	require.Empty(t, paths)
	require.NoError(t, stop())
}

// A hundred runs are queued while the app is down for a minute. Then it starts, at another address than the one that
// was registered: the messages go there, as first attempts.
func appIsDown(t *testing.T) {
	const runs = 100
	nobody := redistest.Nobody(t)
	r, environ := redisOf(t)
	service := startProcess(t, append(environ, "WORKFLOW_BASE_URL=http://"+nobody)...)
	var ids []string
	for range runs {
		ids = append(ids, enqueueRun(t, service.base, 0))
	}
	<-time.After(time.Minute)
	_, text := get(t, service.base+"/v1/runs/"+ids[0]+"/messages")
	require.Contains(t, text, "http://"+nobody)
	require.Contains(t, text, "nothing listens there")
	warned := regexp.MustCompile(`no workflow app answers at this address.*app=http://` + nobody + ` from="WORKFLOW_BASE_URL of this service".*nothing listens there`)
	require.Len(t, warned.FindAllString(service.out.String(), -1), 1, "said once, at the start")
	a := newEndingApp(t, 0)
	a.service = func() string { return service.base }
	post(t, service.base+"/v1/apps", fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1"}`, a.URL))
	requireAllEnded(t, service.base, r.Client, r.Prefix, ids)
	a.requireDelivered(t, ids, 1)
	require.NotContains(t, service.out.String(), "at this address; messages for it will wait\" app="+a.URL)
}

func TestConfigRefusesAnAuthorityThatIsNone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	_, _, err := loadConfig([]string{"WORKFLOW_WORLD_APP_CA=" + file})
	require.ErrorContains(t, err, "WORKFLOW_WORLD_APP_CA cannot be read")
	require.NoError(t, os.WriteFile(file, []byte("no certificate"), 0o600))
	_, _, err = loadConfig([]string{"WORKFLOW_WORLD_APP_CA=" + file})
	require.ErrorContains(t, err, "contains no PEM certificate")
}
