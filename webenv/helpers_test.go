package webenv

// roundRobin polls page 0, 1, 2, … again and again.
type roundRobin struct {
	pages, next int
}

func (r *roundRobin) Next(float64) (int, error) {
	page := r.next % r.pages
	r.next++
	return page, nil
}

func (r *roundRobin) Observe(int, float64, bool) error { return nil }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
