package knapsack_test

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"maps"

	"github.com/recrawl/recrawl/knapsack"
)

// A crawler whose hosts are groups is saved while its workers go on, and continues after a restart.
func ExampleGroups_saved() {
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	if err != nil {
		panic(err)
	}
	c := &grouped{knapsack.NewKeyed[string](filter), make(knapsack.Groups)}
	for _, url := range []string{"https://a.example/x", "https://a.example/y", "https://b.example/"} {
		if err := c.add(url); err != nil {
			panic(err)
		}
	}
	saved, err := c.save()
	if err != nil {
		panic(err)
	}
	c, err = load(saved)
	if err != nil {
		panic(err)
	}
	if err := c.add("https://a.example/z"); err != nil {
		panic(err)
	}
	fmt.Println(c.pages.Len(), "pages of", len(c.hosts), "hosts")
	// Output: 4 pages of 2 hosts
}

// grouped is a crawler whose hosts are groups.
type grouped struct {
	pages *knapsack.Keyed[string]
	hosts knapsack.Groups // used only within With
}

func (c *grouped) add(url string) error {
	c.pages.Add(url)
	return knapsack.With(c.pages, func(f *knapsack.RateFilter, page func(string) (int, error)) error {
		id, err := page(url)
		if err != nil {
			return err
		}
		return c.hosts.Join(f, id, knapsack.Host(url))
	})
}

// state is what is saved of a crawler.
type state struct {
	Hosts knapsack.Groups
	Pages []byte
}

func (c *grouped) save() ([]byte, error) {
	var s state
	err := knapsack.With(c.pages, func(*knapsack.RateFilter, func(string) (int, error)) error {
		s.Hosts = maps.Clone(c.hosts) // first the groups, then the pages
		return nil
	})
	if err != nil {
		return nil, err
	}
	if s.Pages, err = c.pages.MarshalBinary(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = gob.NewEncoder(&b).Encode(s)
	return b.Bytes(), err
}

func load(saved []byte) (*grouped, error) {
	s := state{Hosts: make(knapsack.Groups)}
	if err := gob.NewDecoder(bytes.NewReader(saved)).Decode(&s); err != nil {
		return nil, err
	}
	c := &grouped{knapsack.NewKeyed[string](new(knapsack.RateFilter)), s.Hosts}
	return c, c.pages.UnmarshalBinary(s.Pages)
}
