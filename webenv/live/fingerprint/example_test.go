package fingerprint_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/recrawl/recrawl/webenv/live/fingerprint"
)

// A page shows the time. A second copy, fetched at once, teaches where.
func ExamplePage() {
	var page fingerprint.Page
	read := func(body string) *fingerprint.Copy {
		c := new(fingerprint.Copy)
		io.Copy(c, strings.NewReader(body)) // in a crawler, of the response
		return c
	}

	page.Observe(read("<h1>News</h1><p>It is 12:00:01.</p><p>Rain.</p>"))
	page.Teach(read("<h1>News</h1><p>It is 12:00:03.</p><p>Rain.</p>"))
	fmt.Println(page.Observe(read("<h1>News</h1><p>It is 13:00:00.</p><p>Rain.</p>")).Body)
	fmt.Println(page.Observe(read("<h1>News</h1><p>It is 14:00:00.</p><p>Sun.</p>")).Body)
	// Output:
	// false
	// true
}
