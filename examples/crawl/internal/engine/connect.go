package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Access is how to reach servers elsewhere. Secrets are in files, or come from the environment.
type Access struct {
	// URL has the addresses of some of the servers, separated by commas. Empty means a server
	// within the process.
	URL string
	// Creds and NKey are files with credentials, CA one with the authorities that sign the servers'
	// certificates, Cert and Key those of this client's certificate.
	Creds, NKey, CA, Cert, Key string
	User, Password             string
}

// ErrSecret reports an address with a password or a token in it: it would be seen in the list of
// processes, and in logs.
var ErrSecret = errors.New("engine: an address must not have a user or a password in it")

// ErrUnreached reports that the context ended before a server was reached.
var ErrUnreached = errors.New("engine: no server was reached")

// Check reports settings that make no sense.
func (a *Access) Check() error {
	switch {
	case strings.Contains(a.URL, "@"):
		return ErrSecret
	case (a.Cert == "") != (a.Key == ""):
		return errors.New("engine: a client's certificate needs its key, and the other way round")
	}
	for address := range strings.SplitSeq(a.URL, ",") {
		scheme, _, ok := strings.Cut(strings.TrimSpace(address), "://")
		if ok && !slices.Contains(schemes, scheme) {
			return fmt.Errorf("engine: %s is no address of NATS: want %s://", address, strings.Join(schemes, ":// or "))
		}
	}
	return nil
}

// schemes are those of addresses that the client knows. It takes others for the first.
var schemes = []string{"nats", "tls", "ws", "wss"}

func (a *Access) options() (options []nats.Option, err error) {
	if a.Creds != "" {
		options = append(options, nats.UserCredentials(a.Creds))
	}
	if a.NKey != "" {
		nkey, err := nats.NkeyOptionFromSeed(a.NKey)
		if err != nil {
			return nil, fmt.Errorf("engine: the file of the key cannot be used: %w", err)
		}
		options = append(options, nkey)
	}
	if a.User != "" {
		options = append(options, nats.UserInfo(a.User, a.Password))
	}
	if a.CA != "" {
		options = append(options, nats.RootCAs(a.CA))
	}
	if a.Cert != "" {
		options = append(options, nats.ClientCert(a.Cert, a.Key))
	}
	return options, nil
}

const (
	// Pings find out that a server is gone whose machine does not say so.
	pingEvery = 2 * time.Second
	pingsLost = 2
	// between two attempts to reach a server
	reconnect = 250 * time.Millisecond
)

// absent reports whether an error is that no server is there, and not that it refuses.
func absent(err error) bool {
	var op *net.OpError
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF) || errors.As(err, &op)
}

// connect connects to the servers, and waits for one if none can be reached.
func (e *Engine) connect(ctx context.Context) (err error) {
	options := []nats.Option{
		nats.Name(e.cfg.Name),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnect), nats.ReconnectJitter(reconnect, reconnect),
		nats.ReconnectBufSize(-1), // a record that was not sent at once is not to be sent late
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsLost), nats.Timeout(pingEvery),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { e.cfg.Log.Debug("NATS", "error", err) }),
	}
	if e.server != nil {
		e.conn, err = nats.Connect("", append(options, nats.InProcessServer(e.server))...)
		return err
	}
	if err := e.cfg.Check(); err != nil {
		return err
	}
	more, err := e.cfg.options()
	if err != nil {
		return err
	}
	options = append(append(options, more...), nats.IgnoreAuthErrorAbort(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				e.cfg.Log.Warn("the connection to NATS is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) { e.cfg.Log.Info("connected to NATS again", "server", c.ConnectedUrlRedacted()) }))
	for told := false; ; told = true {
		e.conn, err = nats.Connect(e.cfg.URL, options...)
		if err == nil || !absent(err) {
			return err
		}
		if !told {
			e.cfg.Log.Warn("no NATS server can be reached; trying on", "servers", e.cfg.URL)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ErrUnreached, ctx.Err(), err)
		case <-time.After(4 * reconnect):
		}
	}
}
