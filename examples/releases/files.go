package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/recrawl/recrawl/webenv"
)

const (
	// longestZip, in bytes, is what the go command allows for a module.
	longestZip = 500 << 20
	// zipsTogether is how many of them are in memory at the same time at most.
	zipsTogether = 3
)

// escape takes out commas, which the names of a history do not have.
var escape = strings.NewReplacer("%", "%25", ",", "%2C")

// errForeign is a zip with files that are not those of the version asked for.
var errForeign = errors.New("no zip of this version")

// A fingerprint tells files apart, and those that are there from those that are not.
type fingerprint struct {
	there bool
	crc   uint32
	size  uint64
}

// files forms the history of the files of a module, of a number of days before its last version: what would change on
// a site that shows the latest one. Pages are the files of the first version of these days.
func (p *proxy) files(ctx context.Context, path string, most, days int) (*releases, error) {
	found, err := p.releases(ctx, []string{path}, most)
	if err != nil {
		return nil, err
	}
	r := &releases{history: new(webenv.History), of: nouns{"file", "change"}}
	if !found[0].served {
		r.unserved = []string{path}
		return r, nil
	}
	shown := latest(r.dated(found[0], p.now()), days)
	files := make([]map[string]fingerprint, len(shown))
	err = each(ctx, "zips", zipsTogether, len(shown), func(ctx context.Context, i int) (err error) {
		files[i], err = p.zip(ctx, path, shown[i].name)
		if errors.Is(err, errUnserved) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var before map[string]fingerprint
	changes := map[string][]float64{}
	for i, v := range shown {
		switch now := files[i]; {
		case now == nil:
			r.gone = append(r.gone, path+"@"+v.name)
			continue
		case before == nil:
			for name := range now {
				changes[name] = nil
			}
		default:
			for name, times := range changes {
				if now[name] != before[name] {
					changes[name] = append(times, v.at())
				}
			}
		}
		before = files[i]
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		r.history.Names = append(r.history.Names, path+"/"+name)
		r.history.Times = append(r.history.Times, slices.Compact(changes[name]))
	}
	r.count()
	return r, nil
}

// latest returns, in order of time, the versions of a number of days before the last one that were the latest release
// when they came: no pre-releases, and no repairs of earlier releases. Versions of before those days do not count, as
// some have higher numbers than what came after: a module may begin anew at v0. Nor do those that end in +incompatible
// if the last one does not, and the other way round.
func latest(versions []version, days int) (shown []version) {
	versions = slices.DeleteFunc(slices.Clone(versions), func(v version) bool { return semver.Prerelease(v.name) != "" })
	slices.SortStableFunc(versions, func(a, b version) int { return cmp.Compare(a.at(), b.at()) })
	for _, v := range versions {
		last := versions[len(versions)-1]
		if v.at() < last.at()-float64(days)*day || semver.Build(v.name) != semver.Build(last.name) {
			continue
		}
		if len(shown) == 0 || semver.Compare(v.name, shown[len(shown)-1].name) > 0 {
			shown = append(shown, v)
		}
	}
	return shown
}

// zip downloads a version and tells its files apart.
func (p *proxy) zip(ctx context.Context, path, name string) (files map[string]fingerprint, err error) {
	err = p.getVersion(ctx, longestZip, func(body []byte) error {
		archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			return passing{err} // it may have been cut
		}
		files = make(map[string]fingerprint, len(archive.File))
		for _, f := range archive.File {
			inside, ok := strings.CutPrefix(f.Name, path+"@"+name+"/")
			if !ok {
				return fmt.Errorf("%w: it has a file %.100q", errForeign, f.Name)
			}
			files[escape.Replace(inside)] = fingerprint{true, f.CRC32, f.UncompressedSize64}
		}
		return nil
	}, path, name, ".zip")
	return files, err
}
