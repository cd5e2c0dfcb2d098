package processtree_test

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/processtree"
)

// beListener makes this test binary listen at an address, print its process id and address, and stay until stdin ends.
const beListener = "TEST_BE_LISTENER"

func TestMain(m *testing.M) {
	if address := os.Getenv(beListener); address != "" {
		listen(address)
		return
	}
	goleak.VerifyTestMain(m)
}

func listen(address string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(os.Getpid(), l.Addr())
	_, _ = os.Stdin.Read(make([]byte, 1)) // ends with the test
	_ = l.Close()
}

// startBelow starts a shell with a listener below it, which stays when the shell is killed.
func startBelow(t *testing.T, address string) (shell *exec.Cmd, pid int, at netip.AddrPort, end func()) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	shell = exec.Command("sh", "-c", `"$0" <&3 3<&- & wait`, self)
	shell.Env = append(os.Environ(), beListener+"="+address)
	stdin, hold, err := os.Pipe()
	require.NoError(t, err)
	shell.ExtraFiles = []*os.File{stdin}
	stdout, out, err := os.Pipe()
	require.NoError(t, err)
	shell.Stdout = out
	require.NoError(t, shell.Start())
	require.NoError(t, stdin.Close())
	require.NoError(t, out.Close())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, stdout.Close())
	var text string
	_, err = fmt.Sscan(line, &pid, &text)
	require.NoError(t, err, line)
	at, err = netip.ParseAddrPort(text)
	require.NoError(t, err)
	return shell, pid, at, func() { require.NoError(t, hold.Close()) }
}

func TestListenersOfAGrandchild(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		if strings.HasPrefix(address, "[::1]") && !hasIPv6() {
			continue
		}
		own, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		shell, pid, at, end := startBelow(t, address)
		tree := processtree.New(shell.Process.Pid, nil)
		pids, err := tree.PIDs(t.Context())
		require.NoError(t, err)
		require.ElementsMatch(t, []int{shell.Process.Pid, pid}, pids)
		listeners, err := tree.Listeners(t.Context())
		require.NoError(t, err)
		require.Equal(t, []processtree.Listener{{PID: pid, Addr: at}}, listeners, "and not the port of this process")

		require.NoError(t, shell.Process.Kill())
		_ = shell.Wait() // "signal: killed" is what was asked for
		pids, err = tree.PIDs(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{pid}, pids, "a process stays in the tree when its parent ends")
		end()
		require.Eventually(t, func() bool {
			pids, err := tree.PIDs(t.Context())
			require.NoError(t, err)
			return len(pids) == 0
		}, time.Minute, 10*time.Millisecond)
		listeners, err = tree.Listeners(t.Context())
		require.NoError(t, err)
		require.Empty(t, listeners)
		require.NoError(t, own.Close())
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	return err == nil && l.Close() == nil
}

func TestAProcessIsKnownByWhenItWasCreated(t *testing.T) {
	t.Parallel()
	shell, pid, _, end := startBelow(t, "127.0.0.1:0")
	created, ok := processtree.Created(t.Context(), pid)
	require.True(t, ok)
	require.True(t, processtree.Is(t.Context(), pid, created))
	require.False(t, processtree.Is(t.Context(), pid, created-60_000), "another process had this id")
	member := processtree.New(os.Getpid()+1_000_000, func(other int) bool { return other == pid })
	pids, err := member.PIDs(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{pid}, pids)
	end()
	require.NoError(t, shell.Wait())
	require.Eventually(t, func() bool { return !processtree.Is(t.Context(), pid, created) }, time.Minute, 10*time.Millisecond)
	_, ok = processtree.Created(t.Context(), shell.Process.Pid)
	require.False(t, ok)
}
