package fingerprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func jsonOf(body string) *Copy {
	c := &Copy{Type: "application/json"}
	_, _ = c.Write([]byte(body))
	return c
}

// Of these values some may be noise and the others may not.
func TestMayChange(t *testing.T) {
	t.Parallel()
	for kind, values := range map[string][]string{
		"number": {"1764482400", "1764482400.123456", "1764482400123", "1764482400123456", "1764482400123456789", "1600000000", "2199999999"},
		"text": {"2026-09-30", "2026-09-30T06:00:00Z", "2026-09-30 06:00", "20260930T060000Z", "20260930T060000.123+0200", "2026-09-30t06:00:00.123456789+02:00", "06:00:00", "Wed, 30 Sep 2026 06:00:00 GMT",
			"Wednesday, 30-Sep-2026 06:00:00.000 GMT+02:00", "30/09/2026 06:00:00 (UTC)", "Team A leads 10:12:15", "2026-09-30 Meeting", "550e8400-e29b-41d4-a716-446655440000", "12345678-2345-4678-9a34-123456789012", "1234567890abcdef",
			"2026-09-30 06:00:00.123456789 +0000 UTC m=+0.000012345", "2026-09-30T06:00:00-04:00[America/Argentina/Buenos_Aires]", `09\/30\/2026 06:00:00`,
			"Sep 30, 2026 6:00:05 AM", "9/30/2026, 6:00:05 AM", "Wed Sep 30 2026 06:00:00 GMT+1000 (Australian Eastern Standard Time)", `QbWvRUUsTQQ3dQarLm0+\/Nw4`,
			"d41d8cd98f00b204e9800998ecf8427e", "4Tq9zKp0Yv3LmX7c", "aGVsbG8gd29ybGQhIDEyMw==", "A0Z9A0Z9a0z9a0z9"},
		"": {"", "0", "17", "-1764482400", "1764482400e3", "1764482400-", "17644824001", "1599999999", "2200000000", "1764482400.1.2", "9.50", "true", "null",
			"2026-09-30x", "20260930T0600Z", "20260930", "2026-9-30", "06:00", "10:12", "2:30:15", "0.6:00:00", "Team A leads 10:12:15!", "[2026-09-30 06:00:00] Door opened", "06:00:00 price=9.50", "temp_c 5 at 06:00:00", "=06:00:00", "06:00:00 c]", "2026-09-30 " + strings.Repeat("a", 62), "1234567890123456", "1234567890abcdeg", "deadbeef-feedface",
			"apples", "getUserNameFromIdToken", "iphone-15-pro-max-256gb-2026", "1.2.3", "v1.26.8-rc.1", "https://a.test/550e8400-e29b-41d4",
			"a1b2c3d4e5f6a7b", "ABCDEFGHIJKLMNOP1234", "abcdefgh1ijklmnopqr2", "The 2nd of 3 lines, a1b2c3d4e5f6"},
	} {
		for _, v := range values {
			flags, may := mayChange([]byte(v), true)
			require.Equal(t, kind != "", may, v)
			if may {
				require.Equal(t, kind == "number", flags&hasNumber != 0, v)
			}
			flags, may = mayChange([]byte(v), false)
			require.Equal(t, kind == "number", may && flags&hasNumber != 0, "%s without quotes", v)
			require.Equal(t, kind == "number", may, "%s without quotes", v)
		}
	}
}

// What is JSON has a hash of its lasting values, and a block for each other one and for its path.
func TestJSON(t *testing.T) {
	t.Parallel()
	const now = `"2026-09-30T06:00:00Z"`
	blocks := func(body string) []block {
		c := jsonOf(body)
		c.finish()
		require.True(t, c.json() || c.plain())
		if c.plain() {
			return nil
		}
		require.Zero(t, len(c.text.blocks)%2)
		return c.text.blocks
	}
	values := func(body string) (all []block) {
		for i, b := range blocks(body) {
			if i%2 == 1 {
				all = append(all, b)
			}
		}
		return all
	}
	// Spaces do not count, nor does a comma before an end, nor a byte order mark.
	for _, body := range []string{`{"a":` + now + `,"b":[1,{"c":1764482400}],}`, "\ufeff \n{ \"a\" :\t" + now + ",\r\n\"b\": [1, {\"c\":1764482400 , } ,] }\n"} {
		c := jsonOf(body)
		require.True(t, c.json(), body)
		require.Len(t, c.text.blocks, 4)
		require.Equal(t, []uint8{inBody, inBody, inBody, inBody | hasNumber},
			[]uint8{c.text.blocks[0].flags, c.text.blocks[1].flags, c.text.blocks[2].flags, c.text.blocks[3].flags})
	}
	name := strings.Repeat("a1", longestScalar/2)
	require.Len(t, blocks(`["`+name+`"]`), 2)
	require.Empty(t, blocks(`["`+name+`a"]`))
	// The same values at other places of an array are the same, but not their paths.
	require.Equal(t, values(`{"x":[{"t":`+now+`}]}`), values(`{"x":[1,{"t":`+now+`}]}`))
	require.NotEqual(t, blocks(`{"x":[{"t":`+now+`}]}`), blocks(`{"x":[1,{"t":`+now+`}]}`))
	require.NotEqual(t, values(`{"t":`+now+`}`), values(`{"u":`+now+`}`))
	seen := map[uint32]bool{}
	for i, b := range blocks(fmt.Sprintf(`[%s,[%[1]s],{"a":%[1]s,"b":{"a":%[1]s}},[[%[1]s,%[1]s]]] {"a":%[1]s} {"a":%[1]s} [[[%[1]s,%[1]s],%[1]s],%[1]s] [%[1]s,%[1]s,%[1]s]`, now)) {
		if i%2 == 0 {
			require.False(t, seen[b.hash], "path %d", i/2)
			seen[b.hash] = true
		}
	}
	require.Len(t, seen, 15)

	// All of these differ in what is lasting.
	sums := map[[16]byte]string{}
	for _, body := range []string{`[%s]`, `[[%s]]`, `{"a":%s}`, `{"b":%s}`, `[%s,1]`, `[%s,"1"]`, `[1,%s]`, `[%s,1,2]`, `[%s,"1,2"]`, `[%s,12]`, `[%s,"1","2"]`,
		`[%s,{}]`, `[%s,[]]`, `[%s,null]`, `[%s,"null"]`, `[%s,"a"]`, `[%s,"A"]`, `[%s,"\""]`, `[%s,"\\"]`, `[%s,"\\\""]`, `[%s,"\n"]`, `[%s,"n"]`, `[%s,1,"x"]`, `[%s,"1,x"]`, `[%s,1.5]`, `[%s,15]`, `[%s] []`, `[%s,` + now + `]`,
		`[%s,"` + strings.Repeat("x", longestScalar) + `"]`, `[%s,"` + strings.Repeat("x", longestScalar+1) + `"]`, `[%s,"` + strings.Repeat("x", 2000) + `"]`,
		`{"` + strings.Repeat("x", 2000) + `":%s}`, `{"` + strings.Repeat("x", 1999) + `y":%s}`} {
		c := jsonOf(strings.Replace(body, "%s", now, 1))
		require.True(t, c.json(), body)
		require.Empty(t, sums[c.sum()], body)
		sums[c.sum()] = body
		require.Equal(t, c.sum(), jsonOf(strings.Replace(body, "%s", `"2026-09-30T07:00:00Z"`, 1)).sum(), body)
	}
}

// What is no JSON, or is JSON without a value that may change by itself, is compared byte by byte.
func TestNoJSON(t *testing.T) {
	t.Parallel()
	const now = "1764482400"
	deep := func(n int) string { return strings.Repeat("[", n) + now + strings.Repeat("]", n) }
	for _, body := range []string{``, `1764482400`, `[1`, `[1764482400`, `[1764482400}`, `{"a":1764482400]`, `{1764482400}`, `{"a" 1764482400}`, `{"a":,"b":1764482400}`,
		`{"a":}`, `[,1764482400]`, `[1764482400,,1]`, `[1764482400]]`, `[1764482400],[1]`, `[1764482400] 1`, `["1764482400]`, `[section]` + "\nat=1764482400", `[1764482400:1]`,
		`[1764482400 1]`, `["a""1764482400"]`, `{"a":1764482400 "b":1}`, `[1764482400];`, `for(;;);[1764482400]`, `[1]`, `{"a":"1"}`, `{"1764482400":1}`, `[NaN,1764482400]`, deep(jsonDepth + 1)} {
		require.True(t, jsonOf(body).plain(), body)
		c := jsonOf(body)
		require.NotEqual(t, c.sum(), jsonOf(body+"x").sum(), body)
		require.False(t, c.json(), body)
	}
	require.Equal(t, jsonOf(`[1,{"a":[]}]`).sum(), jsonOf(" [ 1 , { \"a\" : [ ] } ]\n").sum(), "spaces do not count")
	require.True(t, jsonOf(deep(jsonDepth)).sum() != [16]byte{} && !jsonOf(deep(jsonDepth+1)).json())
	for _, mediaType := range []string{"", "text/html", "text/json", "application/problem+json; charset=utf-8", "application/octet-stream", "Application/JSON",
		"application/x-ndjson", "application/ndjson; charset=utf-8", "application/jsonl", "application/did+ld+json"} {
		c := &Copy{Type: mediaType}
		fmt.Fprint(c, deep(jsonDepth))
		c.finish()
		require.True(t, c.json(), mediaType)
		c = &Copy{Type: mediaType, Cut: true}
		fmt.Fprint(c, deep(jsonDepth))
		c.finish()
		require.True(t, c.plain(), "a copy that is cut may end in a number")
	}
}

// lasting draws values of which none may be noise.
func lasting(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case kind == 0 && depth > 0:
		all := map[string]any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "name", "price", `q"\`, ""}), 0, 4, rapid.ID[string]).Draw(t, "names") {
			all[name] = lasting(t, depth-1)
		}
		return all
	case kind == 1 && depth > 0:
		all := make([]any, rapid.IntRange(0, 4).Draw(t, "elements"))
		for i := range all {
			all[i] = lasting(t, depth-1)
		}
		return all
	case kind == 2:
		return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "word")
	case kind == 3:
		return rapid.StringMatching(`[ -~é]{0,12}|[a-z ]{200}`).Draw(t, "text")
	default:
		return rapid.IntRange(-1000, 1000).Draw(t, "number")
	}
}

func marshal(t require.TestingT, v any, indent bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if indent {
		e.SetIndent("", "  ")
	}
	require.NoError(t, e.Encode(v))
	return b.String()
}

// A time that is back after it was missing once has its own place, as before.
func TestTimeInJSONIsBack(t *testing.T) {
	t.Parallel()
	p := new(Page)
	for k := range 40 {
		now := 1_790_000_000 + 7*k
		c := fmt.Sprintf(`{"a": %d, "b": %d, "c": %d}`, now, now+1, now+2)
		if k == 10 {
			c = fmt.Sprintf(`{"a": %d, "c": %d}`, now, now+2)
		}
		require.Equal(t, k == 1 || k == 2 || k == 10 || k == 11, p.Observe(jsonOf(c)).Body, "copy %d", k)
	}
}

// Once it is known that a time and an identifier change by themselves, a document in JSON has changed
// if, and only if, another value has, whatever that is and wherever they stand.
func TestNoiseInJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		now := time.Date(2026, 9, 30, 6, 0, 0, 0, time.UTC)
		inArray, seconds, date := rapid.Bool().Draw(t, "in an array"), rapid.Bool().Draw(t, "seconds"), 1
		document := func(data any) *Copy {
			now = now.Add(time.Duration(1+rng.IntN(1000)) * time.Second)
			meta := map[string]any{"id": fmt.Sprintf("%08x-%04x-4%03x-%016x", rng.Uint32(), rng.Uint32()>>16, rng.Uint32()>>20, rng.Uint64()), "now": now}
			if seconds {
				meta["now"] = now.Unix()
			}
			var all any = map[string]any{"data": data, "z": meta, "modified": fmt.Sprintf("2026-09-%02d", date)}
			if inArray {
				all = []any{1, all, meta, "end"}
			}
			return jsonOf(marshal(t, all, rng.IntN(2) == 0))
		}
		p := new(Page)
		data := lasting(t, 3)
		first := p.Observe(document(data))
		require.Equal(t, Finding{First: true, Again: true}, first)
		if rapid.Bool().Draw(t, "teach") {
			p.Teach(document(data))
		} else {
			p.Observe(document(data))
			p.Observe(document(data))
		}
		for range rapid.IntRange(1, 20).Draw(t, "polls") {
			require.Zero(t, p.Observe(document(data)))
		}
		for range rapid.IntRange(1, 10).Draw(t, "changes") {
			other := lasting(t, 3)
			changed := marshal(t, data, false) != marshal(t, other, false)
			data = other
			require.Equal(t, Finding{Body: changed}, p.Observe(document(data)))
			require.Zero(t, p.Observe(document(data)))
		}
		for range shortRun { // a date that has stood still is content
			require.Zero(t, p.Observe(document(data)))
		}
		date++
		require.Equal(t, Finding{Body: true}, p.Observe(document(data)))
		require.Zero(t, p.Observe(document(data)))
	})
}

// A document may have more times than there are blocks. Those at the end may be noise, and all other values
// are content still.
func TestManyTimesInJSON(t *testing.T) {
	t.Parallel()
	document := func(times, clock, price int) *Copy {
		var b strings.Builder
		b.WriteString(`{"versions": [`)
		for i := range times {
			fmt.Fprintf(&b, `{"released": "2026-09-30T06:%02d:%02dZ", "number": %d},`, i/60%60, i%60, i)
		}
		fmt.Fprintf(&b, `{"price": %d}], "generated": %d}`, price, 1764482400+clock)
		return jsonOf(b.String())
	}
	for _, times := range []int{maxBlocks/2 - 1, maxBlocks / 2, maxBlocks/2 + 40, 9999} {
		p := new(Page)
		require.True(t, p.Observe(document(times, 0, 0)).First)
		p.Teach(document(times, 1, 0))
		for k := range 40 {
			require.Equal(t, Finding{Body: k > 0 && k%10 == 0}, p.Observe(document(times, 2+k, k/10)), "%d times, poll %d", times, k)
		}
		require.Equal(t, body, p.Observe(document(times+1, 42, 3)))
		require.LessOrEqual(t, len(p.entries), maxEntries)
		p = new(Page)
		for range shortRun + 1 {
			require.False(t, p.Observe(document(times, 0, 0)).Changed())
		}
		require.Equal(t, body, p.Observe(document(times, 1, 0)), "what stood still is content")
	}
}

// A second copy says nothing of values that cannot be noise, and a change of one is found after it.
func TestTeachJSON(t *testing.T) {
	t.Parallel()
	p := new(Page)
	document := func(at, price int) *Copy { return jsonOf(fmt.Sprintf(`{"at": %d, "price": %d}`, 1764482400+at, price)) }
	require.True(t, p.Observe(document(0, 1)).First)
	p.Teach(document(1, 2))
	require.Equal(t, body, p.Observe(document(2, 2)))
	require.Equal(t, same, p.Observe(document(3, 2)))
	for k := range 100 { // nothing could be learnt
		require.Equal(t, body, p.Observe(document(4+k, 3+k)))
	}
	p.Numbers = true
	require.Equal(t, body, p.Observe(document(200, 102)), "the time is a number")
	require.Equal(t, same, p.Observe(document(200, 102)))
	p = &Page{Numbers: true}
	for k := range 40 { // a date is not
		f := p.Observe(jsonOf(fmt.Sprintf(`{"at": "2026-09-30 06:%02d:00", "price": 1}`, k)))
		require.Equal(t, k == 1 || k == 2, f.Body, k)
	}
}

// An answer of another kind is a change, and so is the next one of the usual kind. What was learnt stays.
func TestOtherKindsThanJSON(t *testing.T) {
	t.Parallel()
	document := func(k int) *Copy { return jsonOf(fmt.Sprintf(`{"at": %d, "price": 5}`, 1764482400+k)) }
	for _, c := range []*Copy{copyOf([]byte("<h1>Error")), copyOf(nil), jsonOf(`{"error": "down"}`)} {
		p := new(Page)
		for k := range 5 {
			p.Observe(document(k))
		}
		require.Equal(t, body, p.Observe(c))
		require.Equal(t, same, p.Observe(c))
		require.Equal(t, body, p.Observe(document(6)))
		require.Equal(t, same, p.Observe(document(7)))
	}
}

// A copy of another kind than the one before is always a change, however often the kinds take turns. A
// second copy of another kind teaches nothing.
func TestKindsTakeTurns(t *testing.T) {
	t.Parallel()
	const ofHTML, ofText, ofNothing = 0, 1, 2 // or JSON
	rapid.Check(t, func(t *rapid.T) {
		at := 1764482400
		copyOfKind := func(kind int) *Copy {
			at++
			switch kind {
			case ofHTML:
				return copyOf([]byte("<h1>Apples</h1><p>Good ones<p>cost 5"))
			case ofText:
				return copyOf([]byte("no markup"))
			case ofNothing:
				return new(Copy)
			}
			return jsonOf(fmt.Sprintf(`{"at": %d, "price": 5}`, at))
		}
		p, last := new(Page), rapid.IntRange(0, 3).Draw(t, "first")
		p.Observe(copyOfKind(last))
		for _, kind := range rapid.SliceOfN(rapid.IntRange(0, 3), 1, 30).Draw(t, "kinds") {
			before, err := p.MarshalBinary()
			require.NoError(t, err)
			if p.Teach(copyOfKind(kind)); kind != last && !(last == ofText && kind == ofNothing) {
				after, err := p.MarshalBinary()
				require.NoError(t, err)
				require.Equal(t, before, after, "a second copy of another kind")
			}
			require.NoError(t, p.UnmarshalBinary(before))
			f := p.Observe(copyOfKind(kind))
			require.True(t, kind == last || f.Body, "%d after %d", kind, last)
			last = kind
		}
	})
}

// The change that follows a second copy of another kind is found.
func TestTeachOtherKind(t *testing.T) {
	t.Parallel()
	html := func(price int) *Copy {
		return copyOf([]byte(fmt.Sprintf("<h1>Apples</h1><p>Good ones<p>cost %d today<p>come soon", price)))
	}
	document := func(price int) *Copy { return jsonOf(fmt.Sprintf(`{"at": 1764482400, "price": %d}`, price)) }
	for _, kinds := range [][2]func(int) *Copy{{html, document}, {document, html}} {
		p := new(Page)
		p.Observe(kinds[0](1))
		p.Teach(kinds[1](1))
		for range 3 {
			require.Equal(t, same, p.Observe(kinds[0](1)))
		}
		require.Equal(t, body, p.Observe(kinds[0](2)))
	}
}
