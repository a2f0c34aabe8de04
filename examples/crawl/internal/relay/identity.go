package relay

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// An Identity is what the other nodes know a node by.
type Identity struct {
	// Key is the fingerprint of the public key, for the board.
	Key  string
	cert tls.Certificate
}

// NewIdentity draws an identity.
func NewIdentity() (*Identity, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	// The certificate is a shell around the key: nobody looks at anything else in it.
	shell := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(100, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, &shell, &shell, public, private)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Identity{keyOf(cert), tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private, Leaf: cert}}, nil
}

func keyOf(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// errStranger reports an end of a connection whose key is not the one that it should be.
var errStranger = errors.New("relay: not a member of the cluster")

// config returns what TLS needs for connections to ends whose keys are known.
func (id *Identity) config(known func(key string) bool) *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{id.cert},
		ClientAuth:   tls.RequireAnyClientCert,
		// No authority signs these certificates. That the other end has the key is checked by the
		// handshake, and that the key is a member's below, each time.
		InsecureSkipVerify:     true,
		SessionTicketsDisabled: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if key := keyIn(&state); key == "" || !known(key) {
				return fmt.Errorf("%w: key %q", errStranger, key)
			}
			return nil
		},
	}
}

// keyIn returns the key of the other end, empty if it has none.
func keyIn(state *tls.ConnectionState) string {
	if state == nil || len(state.PeerCertificates) == 0 {
		return ""
	}
	return keyOf(state.PeerCertificates[0])
}
