package live

import (
	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
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
