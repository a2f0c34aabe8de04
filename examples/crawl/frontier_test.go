package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
	"github.com/recrawl/recrawl/examples/crawl/internal/testnet"
)

func TestFrontierFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-frontier", "here"},
		{"-frontier", "127.0.0.1:0", "-urls", "file"},
		{"-frontier", "127.0.0.1:0", "-nats", "nats://127.0.0.1:1"},
		{"-frontier", "127.0.0.1:0", "-shards", "2"},
		{"-frontier", "127.0.0.1:0", "-frontier-dates", "ignore"},
		{"-frontier", "127.0.0.1:0", "-frontier-dates", "never"},
		{"-frontier", "127.0.0.1:0", "-frontier-known", "perhaps"},
		{"-frontier", "127.0.0.1:0", "-frontier-cert", "file"},
		{"-frontier", "127.0.0.1:0", "-frontier-clients", "file"},
		{"-frontier", "127.0.0.1:0", "-frontier-metadata", "colour=red"},
	} {
		_, err := parse(args, io.Discard, io.Discard)
		require.Error(t, err, "%v", args)
	}
	s, err := parse([]string{"-frontier", "127.0.0.1:0", "-state", "x", "-frontier-metadata", "signature=digest,cause=", "-frontier-dates", "ignore", "-per-day", "100"}, io.Discard, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "digest", s.frontier.keys.Signature)
	require.Empty(t, s.frontier.keys.Cause)
	require.Equal(t, "fetch.statusCode", s.frontier.keys.Status)
}

// certificate writes a certificate of its own and its key, and returns both.
func certificate(t *testing.T, dir, name string) (tls.Certificate, string, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certFile, keyFile := filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	require.NoError(t, err)
	return pair, certFile, keyFile
}

// With TLS the server is known by its certificate, and clients by theirs if that is asked for.
func TestFrontierTLS(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	dir := t.TempDir()
	server, cert, key := certificate(t, dir, "server")
	client, clients, _ := certificate(t, dir, "client")
	var output output
	cmd := start(t, &output, "-frontier", address, "-state", filepath.Join(dir, "state"), "-frontier-cert", cert, "-frontier-key", key, "-frontier-clients", clients)
	roots := x509.NewCertPool()
	roots.AddCert(server.Leaf)
	list := func(c credentials.TransportCredentials) error {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(c))
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		_, err = pb.NewURLFrontierClient(conn).ListCrawls(t.Context(), &pb.Local{})
		return err
	}
	right := credentials.NewTLS(&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{client}})
	waitFor(t, &output, func() bool { return list(right) == nil })
	require.Error(t, list(insecure.NewCredentials()))
	require.Error(t, list(credentials.NewTLS(&tls.Config{RootCAs: roots})), "without a client's certificate")
	require.Error(t, list(credentials.NewTLS(&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{server}})), "with another one")
	require.Error(t, list(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{client}})), "a server that is not known")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait(), output.String())
}

// -delay 0 ends the delay of an earlier run, and without the flag it stays.
func TestFrontierDelay(t *testing.T) {
	t.Parallel()
	address, dir := testnet.FreeAddress(t), t.TempDir()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	client := pb.NewURLFrontierClient(conn)
	for _, step := range []struct {
		args []string
		want int
	}{{[]string{"-delay", "1h"}, 1}, {nil, 0}, {[]string{"-delay", "0"}, 1}} {
		var output output
		cmd := start(t, &output, append([]string{"-frontier", address, "-state", dir}, step.args...)...)
		puts, err := client.PutURLs(t.Context(), grpc.WaitForReady(true))
		require.NoError(t, err)
		for _, url := range []string{"http://a.test/1", "http://a.test/2"} {
			require.NoError(t, puts.Send(&pb.URLItem{Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: &pb.URLInfo{Url: url}}}}))
			_, err := puts.Recv()
			require.NoError(t, err, output.String())
		}
		require.NoError(t, puts.CloseSend())
		gets, err := client.GetURLs(t.Context(), &pb.GetParams{MaxUrlsPerQueue: 1, DelayRequestable: 1000})
		require.NoError(t, err)
		got := 0
		for _, err = gets.Recv(); err == nil; _, err = gets.Recv() {
			got++
		}
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, step.want, got, "%v", step.args)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait(), output.String())
	}
}
