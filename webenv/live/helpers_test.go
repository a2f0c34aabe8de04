package live

import (
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/internal/check"
	"github.com/recrawl/recrawl/webenv/internal/webtest"
	"github.com/recrawl/recrawl/webenv/serve"
)

func serverOf(t require.TestingT, env webenv.Env, cfg serve.Config) (*serve.Server, *webtest.Clock) {
	c := new(webtest.Clock)
	cfg.Now = c.Now
	if cfg.Calendar.Epoch.IsZero() {
		cfg.Calendar.Epoch = webtest.Year2001
	}
	s, err := serve.New(env, cfg)
	require.NoError(t, err)
	return s, c
}

// perhapsFailing draws whether three of ten polls fail.
func perhapsFailing(t *rapid.T, cfg serve.Config) serve.Config {
	if rapid.Bool().Draw(t, "errors") {
		cfg.Faults = func(int) serve.Faults { return serve.Faults{Unavailable: 0.3} }
		cfg.Source = check.Source(rapid.Uint64().Draw(t, "seed"))
	}
	return cfg
}
