package page

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var screenshots = flag.String("screenshots", "", "folder for pictures of the page")

// browser starts Chromium without a window. Where there is none the test is skipped with a word,
// unless REQUIRE_BROWSER is set, as in .ci/run.
func browser(t *testing.T) context.Context {
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("REQUIRE_BROWSER") != "" {
			t.Fatal("no Chromium, which REQUIRE_BROWSER asks for")
		}
		t.Skip("no Chromium: the page is not tested in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}

// contrasts returns the texts whose contrast with what is behind them is below 4.5 (WCAG 2.2,
// 1.4.3).
const contrasts = `(() => {
  const rgb = c => (c.match(/[\d.]+/g) || []).map(Number);
  const light = c => { const f = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126*f(c[0]) + 0.7152*f(c[1]) + 0.0722*f(c[2]); };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c; } return [255,255,255]; };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility()) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) bad.push(e.tagName + " " + e.textContent.slice(0, 30));
  }
  return bad;
})()`

// The page comes to life, finds a page and polls it, pauses a host, and can be read by a phone, in
// the dark, and by those who do not see it.
func TestBrowser(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	s, f := listen(t)
	var exceptions []string
	require.NoError(t, chromedp.Run(ctx)) // starts it
	chromedp.ListenTarget(ctx, func(e any) {
		if e, ok := e.(*runtime.EventExceptionThrown); ok {
			exceptions = append(exceptions, e.ExceptionDetails.Error())
		}
	})
	var state, detail string
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Navigate(s.URL()),
		chromedp.WaitVisible(`[data-host="a.test"]`),
		chromedp.Text("#polls_rate", &state),
		chromedp.SendKeys("#q", "a.test\r"),
		chromedp.WaitVisible("#results button"),
		chromedp.Click("#results button"),
		chromedp.WaitVisible("#poll-now"),
		chromedp.Click("#poll-now"),
		chromedp.Text("#detail", &detail),
		chromedp.Click(`[data-host="a.test"]`),
		chromedp.WaitVisible(`[data-host="a.test"][aria-label^="Go on"]`),
	))
	require.NotEqual(t, "–", state)
	require.Contains(t, detail, odd) // as a text
	require.Contains(t, detail, "changes 1 time a day (0.5 to 2 with 80 %)")
	f.mu.Lock()
	require.Equal(t, []string{odd}, f.polled)
	require.True(t, f.paused)
	f.mu.Unlock()

	for _, scheme := range []string{"light", "dark"} {
		for name, width := range map[string]int64{"desk": 1280, "phone": 360} {
			var bad []string
			var overflow bool
			var picture []byte
			require.NoError(t, chromedp.Run(ctx,
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.EmulateViewport(width, 800),
				chromedp.Evaluate(contrasts, &bad),
				chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth`, &overflow),
				chromedp.FullScreenshot(&picture, 100),
			))
			require.Empty(t, bad, "%s, %s", name, scheme)
			require.False(t, overflow, "%s, %s", name, scheme)
			if *screenshots != "" {
				require.NoError(t, os.WriteFile(filepath.Join(*screenshots, name+"-"+scheme+".png"), picture, 0o600))
			}
		}
	}
	requireNames(t, ctx)
	require.Empty(t, exceptions)
}

// What fails, or has too many answers, is told in words: a search, a page and a button, also when the
// crawler is gone. One is one.
func TestBrowserFailures(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	s, _ := listen(t)
	var exceptions []string
	require.NoError(t, chromedp.Run(ctx))
	chromedp.ListenTarget(ctx, func(e any) {
		if e, ok := e.(*runtime.EventExceptionThrown); ok {
			exceptions = append(exceptions, e.ExceptionDetails.Error())
		}
	})
	search := func(text, want string) {
		t.Helper()
		var found bool
		require.NoError(t, chromedp.Run(ctx,
			chromedp.Evaluate(`document.getElementById("q").value = ""`, nil), chromedp.SendKeys("#q", text+"\r"),
			chromedp.Poll(fmt.Sprintf(`document.getElementById("detail").textContent === %q`, want), &found)), want)
	}
	var polls, state string
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Navigate(s.URL()),
		chromedp.WaitVisible(`[data-host="a.test"]`),
		chromedp.Text("#in_flight", &polls),
	))
	require.Equal(t, "1 poll under way", polls)
	search("nothing", "No page has that in its URL.")
	search("fail", "The search failed: broken")
	search("two", "")
	search("many", "More pages than these 20 have that in their URL. Write more of it.")
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Click(`[data-host="b.test"]`),
		chromedp.Sleep(2*interval), // in which there is another status
		chromedp.Text("#state", &state),
	))
	require.Equal(t, "unknown host", state)
	s.Close()
	search("a.test", "The search failed: The crawler does not answer.")
	require.NoError(t, chromedp.Run(ctx, chromedp.Click(`[data-host="b.test"]`)))
	back, err := Listen(s.listener.Addr().String(), new(fake))
	require.NoError(t, err)
	t.Cleanup(back.Close)
	var answers bool // at the next attempt of the browser, each three seconds
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Poll(`document.getElementById("state").textContent.startsWith("Demonstration")`, &answers, chromedp.WithPollingTimeout(9*time.Second))))
	require.Empty(t, exceptions)
}

// requireNames checks that all that can be used, and all pictures, have a name for a screen reader.
func requireNames(t *testing.T, ctx context.Context) {
	type value struct {
		Value any `json:"value"`
	}
	var tree struct { // only what is looked at: browsers add to the rest
		Nodes []struct {
			Ignored bool  `json:"ignored"`
			Role    value `json:"role"`
			Name    value `json:"name"`
		} `json:"nodes"`
	}
	require.NoError(t, chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		return cdp.Execute(ctx, "Accessibility.getFullAXTree", nil, &tree)
	})))
	seen := map[string]int{}
	for _, n := range tree.Nodes {
		role, _ := n.Role.Value.(string)
		if n.Ignored {
			continue
		}
		switch seen[role]++; role {
		case "button", "link", "searchbox", "textbox", "combobox", "image", "img", "region", "heading":
			name, _ := n.Name.Value.(string)
			require.NotEmpty(t, name, "a %s without a name", role)
		}
	}
	require.GreaterOrEqual(t, seen["button"], 4)
	require.GreaterOrEqual(t, seen["heading"], 8)
	require.Equal(t, 2, seen["image"]+seen["img"])
}
