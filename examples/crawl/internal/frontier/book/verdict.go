package book

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// A Verdict is what a client's metadata says of a fetch.
type Verdict uint8

const (
	Unknown   Verdict = iota // nothing: no signature
	First                    // a copy with nothing to compare it with
	Unchanged                // the copy is the one before
	Changed
	Failed
	verdicts
)

// Keys name the metadata in which a crawler says what became of a fetch. The defaults are those of
// StormCrawler.
type Keys struct {
	// Signature is a digest of the page: it changed if this did.
	Signature string
	// Date is when the signature changed, for crawlers that keep no signature.
	Date string
	// Status is the HTTP status. 304 says that the page did not change, 400 and more that the
	// fetch failed.
	Status string
	// Errors is a number of failures in a row, and Cause a word of what went wrong.
	Errors, Cause string
}

// DefaultKeys returns the names of StormCrawler.
func DefaultKeys() Keys {
	return Keys{"signature", "signatureChangeDate", "fetch.statusCode", "fetch.error.count", "error.cause"}
}

// String implements [flag.Value].
func (k *Keys) String() string {
	var s []string
	for _, f := range k.fields() {
		s = append(s, f.name+"="+*f.key)
	}
	return strings.Join(s, ",")
}

type field struct {
	name string
	key  *string
}

func (k *Keys) fields() []field {
	return []field{{"signature", &k.Signature}, {"date", &k.Date}, {"status", &k.Status}, {"errors", &k.Errors}, {"cause", &k.Cause}}
}

// Set implements [flag.Value]: "signature=digest,status=http.status" changes two of the names. An
// empty one is not looked at.
func (k *Keys) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		name, key, ok := strings.Cut(part, "=")
		found := false
		for _, f := range k.fields() {
			if ok && f.name == name {
				*f.key, found = key, true
			}
		}
		if !found {
			return fmt.Errorf("%q: want signature=, date=, status=, errors= or cause=", part)
		}
	}
	return nil
}

// Signs are what metadata says of a fetch.
type Signs struct {
	Failed, NotModified bool
	Mark                uint64 // fingerprint of the copy; 0 for none
}

// Read reads metadata, of which get returns the first value of a key.
func (k *Keys) Read(get func(key string) string) (s Signs) {
	value := func(key string) string {
		if key == "" {
			return ""
		}
		return strings.TrimSpace(get(key))
	}
	status, err := strconv.Atoi(value(k.Status))
	errors, _ := strconv.Atoi(value(k.Errors))
	s.NotModified = err == nil && status == 304
	s.Failed = err == nil && (status < 200 || status >= 400) || errors > 0 || value(k.Cause) != ""
	if signature := value(k.Signature); signature != "" {
		s.Mark = fingerprint(signature)&^1 | 2
	} else if date := value(k.Date); date != "" {
		s.Mark = fingerprint(date) | 1
	}
	return s
}

func fingerprint(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

// Compare returns what a fetch of a URL came to, whose fingerprint was one before, and the
// fingerprint to remember. Those of a signature and of a date are not compared: their last bits
// differ.
func Compare(before uint64, s Signs) (Verdict, uint64) {
	switch {
	case s.Failed:
		return Failed, before
	case s.NotModified && before != 0:
		return Unchanged, before
	case s.Mark == 0:
		return Unknown, before
	case before == 0 || before&1 != s.Mark&1:
		return First, s.Mark
	case before == s.Mark:
		return Unchanged, before
	}
	return Changed, s.Mark
}
